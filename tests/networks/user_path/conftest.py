"""The scripts here are run by `test_user_path.py`, and are no tests."""

collect_ignore_glob = ["*.py"]
