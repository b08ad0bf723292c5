# verdict: incomplete
# exit: 0
# launches: 0
# reason: program launched no kernel
# output: hello
print("hello")
