"""From a model reference to a folder on this machine, and the fingerprint of what is in it.

No torch here: the app process keys requests with these functions. Fetching and converting is
`fetch`, which only workers call.
"""
