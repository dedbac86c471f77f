(function_declaration body: (block (statement_list) @body)) @function
(method_declaration body: (block (statement_list) @body)) @function
(func_literal) @function
((call_expression function: (selector_expression field: (field_identifier) @_r) arguments: (argument_list (func_literal body: (block (statement_list) @body))))
  (#any-of? @_r "Run" "Cleanup"))
(if_statement consequence: (block (statement_list) @body))
(if_statement alternative: (block (statement_list) @body))
(for_statement body: (block (statement_list) @body))

((function_declaration name: (identifier) @test.name) @test (#match? @test.name "^(Test|Example|Fuzz)([A-Z_0-9]|$)"))
((expression_statement (call_expression function: (selector_expression operand: (identifier) @_o field: (field_identifier) @_f))) @assert
  (#match? @_o "^(assert|require|is|c|t|tb)$") (#match? @_f "^(Error|Fatal|Fail|Equal|Not|Nil|No|True|False|Len|Contains|Empty|Is|Greater|Less|Zero|Panics|ElementsMatch|InDelta|JSONEq|Log|Helper|Parallel|Run|Regexp|Eventually|Same|Subset|Exactly|Implements|WithinDuration|FileExists|DirExists|HTTP|Assert|Check)"))
((if_statement consequence: (block (statement_list (expression_statement (call_expression function: (selector_expression field: (field_identifier) @_f)))))) @assert
  (#match? @_f "^(Error|Fatal|Fail)"))
((expression_statement (call_expression function: (identifier) @_f)) @assert (#match? @_f "^(assert|check|verify|require|expect|must)"))

[(return_statement) (break_statement) (continue_statement) (goto_statement)] @exit
((call_expression function: (selector_expression field: (field_identifier) @_e)) @exit (#any-of? @_e "Skip" "SkipNow" "Skipf" "Exit" "Goexit"))
((call_expression function: (identifier) @_e) @exit (#any-of? @_e "panic" "recover"))

; testList{…}.validate(t)
(call_expression function: (selector_expression operand: (composite_literal body: (literal_value) @table)))
(range_clause right: [(composite_literal body: (literal_value) @loop) (identifier) @loop])

(function_declaration name: (identifier) @define.name) @define
(method_declaration receiver: (parameter_list (parameter_declaration type: [(type_identifier) @receiver (pointer_type (type_identifier) @receiver)
  (generic_type type: (type_identifier) @receiver) (pointer_type (generic_type type: (type_identifier) @receiver))]))) @define
(type_declaration [(type_spec name: (type_identifier) @define.name) (type_alias name: (type_identifier) @define.name)]) @define
(const_declaration (const_spec name: (identifier) @define.name)) @define
(var_declaration (var_spec name: (identifier) @define.name)) @define
(var_declaration (var_spec_list (var_spec name: (identifier) @define.name))) @define
(short_var_declaration left: (expression_list (identifier) @define.name))
(import_declaration) @define @names
(import_spec_list) @names
(import_spec name: (package_identifier) @define.name)
(import_spec name: [(dot) (blank_identifier)]) @reach
((import_spec path: (_) @_p) @reach (#match? @_p "^.(C|unsafe|syscall).$"))

[
  (assignment_statement left: (expression_list (_) @assign))
  (inc_statement (_) @assign)
  (dec_statement (_) @assign)
]
[(selector_expression) (index_expression) (unary_expression)] @member

([(identifier) (type_identifier)] @reserved
  (#match? @reserved "^(TestMain|init|main|any|append|bool|byte|cap|clear|close|comparable|complex(64|128)?|copy|delete|error|false|float(32|64)|imag|u?int(8|16|32|64)?|iota|len|make|max|min|new|nil|panic|print|println|real|recover|rune|string|true|uintptr)$"))
((selector_expression operand: (identifier) @_o field: (field_identifier) @_f) @reach (#eq? @_o "os") (#eq? @_f "Exit"))
((identifier) @reach (#any-of? @reach "unsafe" "syscall"))
(function_declaration !body) @reach

[(int_literal) (float_literal) (interpreted_string_literal) (raw_string_literal) (rune_literal) (true) (false)] @literal
(binary_expression operator: ["==" "!=" "<" ">" "<=" ">="] @operator)
((call_expression function: (selector_expression operand: (identifier) @_o field: (field_identifier) @judge)) (#any-of? @_o "assert" "require"))
