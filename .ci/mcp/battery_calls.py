"""The calls of the battery: for each server, calls that work without the proxy.

BOX stands for the folder of the server, PAGE for the address of a page.
"""

EVERYTHING = [
    ("echo", {"message": "hi \u20ac \U0001f600"}),
    ("echo", {"message": ""}),
    ("get-annotated-message", {"messageType": "success"}),
    ("get-annotated-message", {"messageType": "error", "includeImage": True}),
    ("get-resource-links", {}),
    ("get-resource-links", {"count": 2}),
    ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
    ("get-structured-content", {"location": "Chicago"}),
    ("get-sum", {"a": 1, "b": 2.5}),
    ("get-sum", {"a": -1e3, "b": 12345678901234}),
    ("get-tiny-image", {}),
    ("trigger-long-running-operation", {"duration": 0.1, "steps": 1}),
]

FILESYSTEM = [
    ("read_text_file", {"path": "BOX/notes.txt"}),
    ("read_text_file", {"path": "BOX/notes.txt", "head": 1}),
    ("read_text_file", {"path": "BOX/notes.txt", "tail": 1}),
    ("read_file", {"path": "BOX/notes.txt"}),
    ("read_media_file", {"path": "BOX/dot.png"}),
    ("read_multiple_files", {"paths": ["BOX/notes.txt", "BOX/sub/deep.md"]}),
    ("read_multiple_files", {"paths": ["BOX/notes.txt"]}),
    ("write_file", {"path": "BOX/new.txt", "content": "line\n\u00e4\n"}),
    ("edit_file", {"path": "BOX/notes.txt", "edits": [{"oldText": "one", "newText": "1"}]}),
    ("edit_file", {"path": "BOX/notes.txt", "edits": [{"oldText": "two", "newText": "2"}], "dryRun": True}),
    ("create_directory", {"path": "BOX/made/deep"}),
    ("list_directory", {"path": "BOX"}),
    ("list_directory_with_sizes", {"path": "BOX", "sortBy": "size"}),
    ("directory_tree", {"path": "BOX", "excludePatterns": ["*.png"]}),
    ("move_file", {"source": "BOX/notes.txt", "destination": "BOX/moved.txt"}),
    ("search_files", {"path": "BOX", "pattern": "**/*.md"}),
    ("get_file_info", {"path": "BOX/notes.txt"}),
    ("list_allowed_directories", {}),
]

MEMORY = [
    ("create_entities", {"entities": [{"name": "Bo", "entityType": "person", "observations": ["likes tea"]}]}),
    ("create_relations", {"relations": [{"from": "Ada", "to": "Math", "relationType": "loves"}]}),
    ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["born 1815"]}]}),
    ("delete_entities", {"entityNames": ["Ada"]}),
    ("delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["wrote programs"]}]}),
    ("delete_relations", {"relations": [{"from": "Ada", "to": "Math", "relationType": "studies"}]}),
    ("read_graph", {}),
    ("search_nodes", {"query": "Ada"}),
    ("open_nodes", {"names": ["Ada"]}),
]

THINKING = [
    ("sequentialthinking", {"thought": "a", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 3}),
    ("sequentialthinking", {"thought": "b", "nextThoughtNeeded": False, "thoughtNumber": 2, "totalThoughts": 2,
                            "isRevision": True, "revisesThought": 1}),
    ("sequentialthinking", {"thought": "c", "nextThoughtNeeded": "true", "thoughtNumber": 3, "totalThoughts": 3,
                            "branchFromThought": 1, "branchId": "x"}),
]

GIT = [
    ("git_status", {"repo_path": "BOX"}),
    ("git_diff_unstaged", {"repo_path": "BOX"}),
    ("git_diff_unstaged", {"repo_path": "BOX", "context_lines": 1}),
    ("git_diff_staged", {"repo_path": "BOX"}),
    ("git_diff", {"repo_path": "BOX", "target": "main"}),
    ("git_add", {"repo_path": "BOX", "files": ["notes.txt"]}),
    ("git_reset", {"repo_path": "BOX"}),
    ("git_log", {"repo_path": "BOX", "max_count": 1}),
    ("git_log", {"repo_path": "BOX", "start_timestamp": "2020-01-01"}),
    ("git_create_branch", {"repo_path": "BOX", "branch_name": "other"}),
    ("git_show", {"repo_path": "BOX", "revision": "HEAD"}),
    ("git_branch", {"repo_path": "BOX", "branch_type": "local"}),
]

TIME = [
    ("get_current_time", {"timezone": "Europe/Zurich"}),
    ("convert_time", {"source_timezone": "UTC", "time": "16:30", "target_timezone": "Asia/Tokyo"}),
]

FETCH = [
    ("fetch", {"url": "PAGE"}),
    ("fetch", {"url": "PAGE", "raw": True}),
    ("fetch", {"url": "PAGE", "max_length": 20, "start_index": 3}),
    # What JSON Schema calls a URI has no such characters, and the server takes them.
    ("fetch", {"url": "PAGE?q=K\u00e4se \u65e5\u672c"}),
]

SQLITE = [
    ("read_query", {"query": "SELECT * FROM people ORDER BY id"}),
    ("write_query", {"query": "INSERT INTO people (name) VALUES ('Cy')"}),
    ("create_table", {"query": "CREATE TABLE t (a INTEGER)"}),
    ("list_tables", {}),
    ("describe_table", {"table_name": "people"}),
]

FAST = [
    ("add", {"a": 1}),
    ("add", {"a": 12345678901234567890, "b": -2}),
    ("pet", {"animal": {"kind": "cat", "lives": 7}}),
    ("pet", {"animal": {"kind": "dog", "tricks": ["sit"]}}),
    ("any_pet", {}),
    ("any_pet", {"animal": None}),
    ("any_pet", {"animal": "a text"}),
    ("any_pet", {"animal": {"kind": "dog"}}),
    ("depth", {"tree": {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}}),
    # Formats that the server reads, though the schema's names for them are stricter.
    ("when", {"at": "2025-03-04T12:00:00"}),
    ("when", {"at": "2025-03-04 12:00"}),
    ("when", {"at": "2025-03-04T12:00:00Z", "on": "2025-03-04", "hour": "10:00", "wait": "P1D"}),
    ("when", {"at": "2025-03-04T12:00:00Z", "wait": "01:30"}),
    ("when", {"at": "2025-03-04T12:00:00Z", "id": "1429989fe8ac4effbc8f57f56486db54"}),
    ("paint", {"color": "deep-blue"}),
    ("paint", {"color": "red", "coats": 1.5, "tags": ["a", "b"], "size": [1, 2], "options": {"7": 1}}),
    ("wipe", {"path": "a", "dry_run": True}),
]

PLAYWRIGHT = [
    ("browser_navigate", {"url": "PAGE"}),
    ("browser_snapshot", {}),
    ("browser_snapshot", {"depth": 2}),
    ("browser_resize", {"width": 640, "height": 480}),
    ("browser_evaluate", {"function": "() => document.querySelectorAll('*').length"}),
    ("browser_click", {"target": "button", "element": "Go"}),
    ("browser_type", {"target": "#name", "text": "Ada", "slowly": True}),
    ("browser_select_option", {"target": "select", "values": ["b"]}),
    ("browser_press_key", {"key": "Tab"}),
    ("browser_wait_for", {"time": 0.1}),
    ("browser_console_messages", {"level": "error"}),
    ("browser_network_requests", {"static": False}),
    ("browser_tabs", {"action": "list"}),
    # Hosts add such keys, and the server ignores them.
    ("browser_navigate", {"url": "PAGE", "reasoning": "to see it"}),
    ("browser_snapshot", {"random_string": "x"}),
]
