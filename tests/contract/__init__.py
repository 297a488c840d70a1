"""Contract tests: check any server of this family over HTTP alone.

    CONTRACT_URL=https://go.example CONTRACT_KEY=wp_… python -m pytest tests/contract

Some cases need more, and are skipped without it:

- `CONTRACT_READ_KEY`: a key of the same user that can only read; `CONTRACT_REVOKED_KEY`,
  `CONTRACT_EXPIRED_KEY`, `CONTRACT_OTHER_KEY` (another user's);
- `CONTRACT_DOMAIN`: a host that is a verified domain of the user;
- `CONTRACT_LIMITED_URL`, `CONTRACT_LIMITED_KEY`, `CONTRACT_LIMITED_READ_KEY`: a server with a low rate limit,
  or the same server, tested last: its limits are used up for a minute;
- `CONTRACT_FULL_URL`, `CONTRACT_FULL_KEY`: a server whose storage its operator has filled, wholly or nearly;
- `CONTRACT_BUSY_URL`, `CONTRACT_BUSY_KEY`: a server whose database another process holds locked.

Cases delete all that they create. What must happen within some seconds may take `CONTRACT_PATIENCE` times as
long (default 1; 30 for servers that this suite starts). Without `CONTRACT_URL` servers are started for it.
The cases do not import the application.
"""
