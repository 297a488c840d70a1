"""Does a server keep the contract? Asked over HTTP alone, of any server of this family.

    CONTRACT_URL=https://go.example CONTRACT_KEY=wp_… python -m pytest tests/contract

`CONTRACT_READ_KEY` (a key of the same user that can only read) and `CONTRACT_OTHER_KEY` (another user's) are for the
cases that need them, which else are skipped. Everything that is made is deleted again. Without `CONTRACT_URL` a
server is started for it. Nothing here imports the application.
"""
