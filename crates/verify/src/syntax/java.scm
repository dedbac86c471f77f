(class_body) @suite
(method_declaration body: (block) @body) @function
(lambda_expression) @function
(if_statement consequence: (block) @body)
(if_statement alternative: (block) @body)
(for_statement body: (block) @body)
(enhanced_for_statement body: (block) @body)
(while_statement body: (block) @body)
((method_declaration (modifiers) @_m body: (block) @closed) (#match? @_m "expected|Disabled|Ignore|Expected"))

((method_declaration (modifiers (_ name: (identifier) @_a)) name: (identifier) @test.name) @test
  (#any-of? @_a "Test" "ParameterizedTest" "RepeatedTest" "TestFactory" "Property"))
((method_declaration name: (identifier) @test.name) @test (#match? @test.name "^test"))
((expression_statement (method_invocation name: (identifier) @_n)) @assert (#match? @_n "^(assert|verify|expect|fail|check|is|has|contains|matches)"))

[(return_statement) (break_statement) (continue_statement) (throw_statement)] @exit
((method_invocation name: (identifier) @_e) @exit (#match? @_e "^(exit|halt|assume.*|abort)$"))

(annotation arguments: (annotation_argument_list (element_value_array_initializer) @table))
((annotation arguments: (annotation_argument_list (element_value_pair key: (identifier) @_k value: (element_value_array_initializer) @table)))
  (#any-of? @_k "value" "strings" "ints" "longs" "doubles"))
(enhanced_for_statement value: (identifier) @loop)

(method_declaration name: (identifier) @define.name) @define
(class_declaration name: (identifier) @define.name) @define
(record_declaration name: (identifier) @define.name) @define
(enum_declaration name: (identifier) @define.name) @define
(field_declaration declarator: (variable_declarator name: (identifier) @define.name)) @define
(local_variable_declaration declarator: (variable_declarator name: (identifier) @define.name)) @define
(import_declaration (scoped_identifier name: (identifier) @define.name)) @define
((import_declaration (asterisk)) @reach (#not-match? @reach "^import (static )?(org\\.(junit|assertj|hamcrest|mockito)|java\\.util)\\."))

[(assignment_expression left: (_) @assign) (update_expression (_) @assign)]
[(field_access) (array_access)] @member
((method_declaration (modifiers (_ name: (identifier) @_a))) @reach
  (#any-of? @_a "Override" "Rule"))
((field_declaration (modifiers (_ name: (identifier) @_a))) @reach (#any-of? @_a "Rule" "ClassRule" "RegisterExtension"))
(static_initializer) @reach
((identifier) @reach (#any-of? @reach "System.exit" "setAccessible" "Unsafe" "mockStatic" "mockConstruction"))
((identifier) @reserved (#match? @reserved "^(setUp|tearDown|suite|assert.*|fail|main)$"))

[(decimal_integer_literal) (decimal_floating_point_literal) (string_literal) (character_literal) (true) (false) (null_literal)] @literal
(binary_expression operator: ["==" "!=" "<" ">" "<=" ">="] @operator)
((method_invocation name: (identifier) @judge) (#match? @judge "^assert"))
