import pytest

smolagents = pytest.importorskip("smolagents")

from scripted import documented, six


def good(tools, model):
    return documented("smolagents", tools=tools, model=model)["agent"]


def run(make):
    def runs(url, save):
        save.__doc__ = """Saves a file.

        Args:
            path: The path.
            tags: The tags.
            limit: The limit.
        """
        model = smolagents.OpenAIServerModel("m", api_base=url, api_key="k")
        class Save(smolagents.Tool):
            name, description, output_type = "save", "Saves a file.", "string"
            inputs = {"path": {"type": "string", "description": "p"},
                      "tags": {"type": "array", "description": "t", "items": {"type": "string"}},
                      "limit": {"type": "integer", "description": "l", "nullable": True}}

            def forward(self, path, tags, limit=10):
                return save(path, tags, limit)

        agent = make(tools=[Save()], model=model)
        agent.max_steps = 2
        agent.run("Save it.")

    return runs


def test_six_calls():
    # An input with a default must be nullable there, so that `null` is allowed; text that is cut off is
    # refused before tools are called.
    unseen = {"`null` for an optional", "cut off"}
    six("smolagents", run(smolagents.ToolCallingAgent), run(good), unseen=unseen)
