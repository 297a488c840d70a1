"""HTTP shared by all edges: bodies, errors, headers, cookies, addresses."""
