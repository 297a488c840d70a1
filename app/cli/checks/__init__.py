"""What does `flask doctor` look at?"""
