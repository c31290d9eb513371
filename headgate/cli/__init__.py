"""The command line: one file a command. It prints and exits; what is decided, is decided below."""
