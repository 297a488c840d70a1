"""Does a server keep the contract? Asked over HTTP alone, of any server of this family.

    CONTRACT_URL=https://go.example CONTRACT_KEY=wp_… python -m pytest tests/contract

Some cases need more, and are skipped without it: `CONTRACT_READ_KEY` (a key of the same user that can only read),
`CONTRACT_REVOKED_KEY`, `CONTRACT_EXPIRED_KEY`, `CONTRACT_OTHER_KEY` (another user's), `CONTRACT_DOMAIN` (a host that
is a verified domain of the user), and `CONTRACT_LIMITED_URL`, `CONTRACT_LIMITED_KEY`, `CONTRACT_LIMITED_READ_KEY` (a
server with a low rate limit, or the same one, asked last: its limits are used up for a minute). Two want a server that its
operator has brought into trouble: `CONTRACT_FULL_URL`, `CONTRACT_FULL_KEY` (no space is left where it stores, or little) and
`CONTRACT_BUSY_URL`, `CONTRACT_BUSY_KEY` (somebody else holds its database locked). Everything that is made is deleted again.
What must happen within some seconds may take `CONTRACT_PATIENCE` times as long (1; 30 for servers of our own suite).
Without `CONTRACT_URL` servers are started for it. Nothing here imports the application.
"""
