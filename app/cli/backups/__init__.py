"""How does an instance become one file, and that file an instance?"""
