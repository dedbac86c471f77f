((call method: (identifier) @_f block: [(do_block body: (body_statement) @suite) (block body: (block_body) @suite)])
  (#any-of? @_f "describe" "context" "feature" "shared_examples" "shared_context" "xdescribe"))
((call method: (identifier) @_f block: [(do_block body: (body_statement) @body) (block body: (block_body) @body)])
  (#any-of? @_f "it" "specify" "example" "test" "scenario" "before" "after" "each" "setup"))
(class body: (body_statement) @suite)
(method body: (body_statement) @body) @function
[(do_block) (block) (lambda)] @function
(if consequence: (then) @body)

((call method: (identifier) @_f arguments: (argument_list . (string) @test.name)) @test (#any-of? @_f "it" "specify" "example" "test" "scenario"))
((call method: (identifier) @_f !arguments block: (_)) @test (#any-of? @_f "it" "specify"))
((method name: (identifier) @test.name) @test (#match? @test.name "^test_"))
((call method: (identifier) @_m) @assert (#match? @_m "^(assert|refute|expect|must_|wont_|flunk)"))
((call receiver: [(call method: (identifier) @_m) (identifier) @_m]) @assert (#match? @_m "^(expect|is_expected|_|value)$"))

[(return) (break) (next) (redo) (retry)] @exit
((call method: (identifier) @_e) @exit (#any-of? @_e "exit" "exit!" "abort" "skip" "pending" "raise" "throw" "fail" "at_exit"))
((identifier) @exit (#any-of? @exit "skip" "pending" "exit" "abort" "raise" "exit!"))

((call receiver: [(array) (identifier) (constant)] @loop method: (identifier) @_e) (#eq? @_e "each"))

((call method: (identifier) @_f block: (_)) @define
  (#any-of? @_f "it" "specify" "example" "test" "scenario" "describe" "context" "feature" "xit" "before" "after" "setup" "teardown"))
((call method: (identifier) @_f arguments: (argument_list . (simple_symbol) @define.name) block: (_)) @define (#any-of? @_f "let" "let!"))
((call method: (identifier) @_f) @define (#any-of? @_f "require" "require_relative"))
(method name: (identifier) @define.name) @define
(class name: (constant) @define.name) @define
(assignment left: [(constant) (identifier)] @define.name) @define
(left_assignment_list [(identifier) @define.name (rest_assignment (identifier) @define.name) (destructured_left_assignment (identifier) @define.name)])

[(assignment left: (_) @assign) (operator_assignment left: (_) @assign)]
[(call) (element_reference)] @member
((identifier) @reserved (#match? @reserved "^(setup|teardown|before|after|subject|initialize|run|assert.*|refute.*)$"))
((identifier) @reach (#any-of? @reach "instance_eval" "class_eval" "module_eval" "eval" "define_method" "alias_method" "prepend" "refine" "at_exit" "allow_any_instance_of" "exit!" "send" "instance_variable_set" "const_set" "remove_method"))

[(integer) (float) (string) (true) (false) (nil) (simple_symbol)] @literal
(binary operator: ["==" "!=" "<" ">" "<=" ">="] @operator)
((call method: (identifier) @judge) (#match? @judge "^(to|not_to|to_not|(assert|refute)(_[a-z_]+)?)$"))
