//! The limit on open files. Every request holds two connections, so the usual soft limit of 1,024
//! files ends at 500 requests.

/// Files beside the connections: listeners, the store, the log, certificates.
const OTHER_FILES: u64 = 64;

/// Raises the soft limit on open files as far as the hard limit allows. Returns how many requests at
/// the same time fit into it; `None` if there is no limit, or none that is known.
pub fn raise_file_limit() -> Option<u64> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            let raised = Rlimit {
                current: limit.maximum,
                maximum: limit.maximum,
            };
            // Refused only where the hard limit is more than the system allows; the old one stays.
            let _ = setrlimit(Resource::Nofile, raised);
        }
        let files = getrlimit(Resource::Nofile).current?;
        Some(files.saturating_sub(OTHER_FILES) / 2)
    }
    #[cfg(not(unix))]
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use rustix::process::{Resource, getrlimit, setrlimit};

    #[test]
    fn soft_limit_becomes_the_hard_one() {
        let mut before = getrlimit(Resource::Nofile);
        // A soft limit that is the hard one already would show nothing.
        before.current = before.maximum.map_or(Some(1024), |hard| Some(hard - 1));
        setrlimit(Resource::Nofile, before).expect("a soft limit may be lowered");
        let requests = raise_file_limit();
        let after = getrlimit(Resource::Nofile);
        assert_eq!(after.maximum, before.maximum);
        // Elsewhere the system may allow less than the hard limit.
        if cfg!(target_os = "linux") {
            assert_eq!(after.current, after.maximum);
        }
        assert_eq!(
            requests,
            after.current.map(|files| (files - OTHER_FILES) / 2)
        );
    }
}
