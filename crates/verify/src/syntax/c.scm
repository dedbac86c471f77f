(function_definition body: (compound_statement) @body) @function
(if_statement consequence: (compound_statement) @body)
(for_statement body: (compound_statement) @body)
(while_statement body: (compound_statement) @body)

((function_definition declarator: (function_declarator declarator: (identifier) @test.name)) @test (#match? @test.name "[tT]est"))
; A program without functions for its tests.
((function_definition declarator: (function_declarator declarator: (identifier) @test.name)
    body: (compound_statement (expression_statement (call_expression function: (identifier) @_n)))) @test
  (#eq? @test.name "main") (#match? @_n "assert|ASSERT|CHECK|check|expect|EXPECT"))
((expression_statement (call_expression function: (identifier) @_n)) @assert (#match? @_n "^(ck_)?(assert|ASSERT|TEST_ASSERT|CHECK|EXPECT|REQUIRE|cr_|CU_|check|expect|verify|mu_|munit_)"))

[(return_statement) (break_statement) (continue_statement) (goto_statement)] @exit
((call_expression function: (identifier) @_e) @exit (#match? @_e "^(_?_?exit|_Exit|quick_exit|abort|longjmp|TEST_IGNORE.*|skip.*)$"))

(function_definition declarator: (function_declarator declarator: (identifier) @define.name)) @define
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @define.name))) @define
(declaration declarator: (init_declarator declarator: [(identifier) @define.name (pointer_declarator declarator: (identifier) @define.name)])) @define
(declaration declarator: (identifier) @define.name) @define
(preproc_include path: (system_lib_string)) @define
(struct_specifier name: (type_identifier) @define.name body: (_)) @define

[(assignment_expression left: (_) @assign) (update_expression argument: (_) @assign)]
[(field_expression) (subscript_expression) (pointer_expression)] @member
((identifier) @reserved (#match? @reserved "^(main|assert|setUp|tearDown|exit|abort|printf)$"))
((identifier) @reach (#any-of? @reach "_exit" "_Exit" "exit" "__attribute__" "constructor" "atexit" "signal" "longjmp"))
(attribute_specifier) @reach

[(number_literal) (string_literal) (char_literal) (true) (false) (null)] @literal
((call_expression function: (identifier) @judge) (#match? @judge "^(TEST_ASSERT|ck_assert|assert_|CU_ASSERT)"))
(binary_expression operator: ["==" "!=" "<" ">" "<=" ">="] @operator)
