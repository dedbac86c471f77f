; Blocks
(class_definition body: (block) @suite)
(function_definition body: (block) @body) @function
(lambda) @function
(if_statement consequence: (block) @body)
(elif_clause consequence: (block) @body)
(else_clause body: (block) @body)
(for_statement body: (block) @body)
(while_statement body: (block) @body)
(with_statement body: (block) @body)
((with_statement (with_clause) @_with body: (block) @closed)
  (#match? @_with "aises|warns|suppress|skip|deprecated|fail|patch|mock|Mock"))
((decorator) @_mark . (_)* . definition: (function_definition body: (block) @closed)
  (#match? @_mark "xfail|expectedFailure|raises"))

; Tests
((function_definition name: (identifier) @test.name) @test (#match? @test.name "^test"))
[(assert_statement) (call function: (attribute attribute: (identifier) @_name (#match? @_name "^(assert|fail)")))] @assert
((call function: (identifier) @_name) @assert (#match? @_name "^_?(assert|check|verify|expect)"))
(with_statement (with_clause (with_item value: (call function: (attribute attribute: (identifier) @_name (#any-of? @_name "raises" "warns" "subTest" "assertRaises" "assertRaisesRegex" "assertWarns" "assertLogs")))))) @assert

; What ends or skips early
[(return_statement) (break_statement) (continue_statement) (raise_statement) (yield)] @exit
((call function: [(identifier) @_f (attribute attribute: (identifier) @_f)]) @exit
  (#any-of? @_f "skip" "skipTest" "xfail" "exit" "_exit" "quit" "abort" "kill" "importorskip" "SkipTest" "stop"))

; Tables
((decorator (call function: (attribute attribute: (identifier) @_p) arguments: (argument_list . (string) @names . [(list) (tuple) (identifier)] @table)))
  (#eq? @_p "parametrize"))
((decorator (call function: (attribute attribute: (identifier) @_p) arguments: (argument_list . [(list) (tuple)] . [(list) (tuple) (identifier)] @table)))
  (#eq? @_p "parametrize"))
((decorator (call function: (attribute attribute: (identifier) @_p) arguments: (argument_list (keyword_argument name: (identifier) @_i value: (list) @table))))
  (#eq? @_p "parametrize") (#eq? @_i "ids"))
((decorator (call function: [(identifier) @_p (attribute attribute: (identifier) @_p)] arguments: (argument_list . [(list) (identifier)] @table)))
  (#any-of? @_p "expand" "data" "cases" "parameters" "parameterized"))
(for_statement right: [(list) (tuple) (identifier)] @loop)
((for_statement right: (call function: (attribute object: [(identifier) (dictionary)] @loop attribute: (identifier) @_i)))
  (#any-of? @_i "items" "keys" "values"))

; Definitions
(function_definition name: (identifier) @define.name) @define
(class_definition name: (identifier) @define.name) @define
(decorated_definition) @define
(expression_statement (assignment left: (identifier) @define.name)) @define
(import_statement name: (dotted_name . (identifier) @define.name)) @define
(import_statement name: (aliased_import alias: (identifier) @define.name)) @define
(import_from_statement name: (dotted_name (identifier) @define.name)) @define @names
(import_from_statement name: (aliased_import alias: (identifier) @define.name)) @define @names
(import_from_statement (wildcard_import) @reach)
((future_import_statement) @define (#match? @define "import annotations$"))
((future_import_statement) @reach (#not-match? @reach "import annotations$"))
(parameters) @params

; Assignments
[
  (assignment left: (_) @assign)
  (augmented_assignment left: (_) @assign)
  (delete_statement (_) @assign)
  (for_statement left: (_) @assign)
  (as_pattern alias: (_) @assign)
  (named_expression name: (_) @assign)
]
[(attribute) (subscript)] @member

; Names
((identifier) @reserved
  (#match? @reserved "^(pytestmark|load_tests|collect_ignore(_glob)?|test_suite|suite|additional_tests|main|__.*|pytest_.*|[sS]et[uU]p.*|setup.*|[tT]ear[dD]own.*)$"))
((identifier) @reach
  (#any-of? @reach "autouse" "allow_module_level" "globals" "exec" "eval" "builtins" "__builtins__" "__globals__" "__code__"
    "__dict__" "__import__" "_getframe" "atexit" "_exit" "settrace" "modules" "reload"))
((string) @reach (#match? @reach "^.autouse.$"))
((call function: (identifier) @reach) (#any-of? @reach "setattr" "delattr" "globals" "vars"))
[(global_statement) (nonlocal_statement)] @reach
((decorator (call function: [(identifier) @_f (attribute attribute: (identifier) @_f)]
  arguments: (argument_list [(keyword_argument name: (identifier) @_n) (dictionary_splat)] @reach)))
  (#eq? @_f "fixture") (#match? @reach "^(name|autouse|\\*)"))
(decorator) @decorator
((decorator [(identifier) @_d (attribute attribute: (identifier) @_d)
    (call function: [(identifier) @_d (attribute attribute: (identifier) @_d)])]) @fine
  (#any-of? @_d "fixture" "contextmanager" "asynccontextmanager" "dataclass" "staticmethod" "classmethod" "property" "lru_cache" "cache" "total_ordering" "wraps" "override"))

; What can be changed
[(integer) (float) (string) (true) (false) (none)] @literal
(comparison_operator operators: _ @operator)
(not_operator "not" @operator)
((call function: (attribute attribute: (identifier) @judge)) (#match? @judge "^assert"))
