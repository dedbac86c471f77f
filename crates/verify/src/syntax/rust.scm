(function_item body: (block) @body) @function
(closure_expression) @function
(for_expression body: (block) @body)
(if_expression consequence: (block) @body)
(else_clause (block) @body)
(while_expression body: (block) @body)
(function_item name: (identifier) @test.name) @test

((macro_invocation macro: (identifier) @_m) @assert (#match? @_m "assert|check|verify|matches"))
[(return_expression) (break_expression) (continue_expression) (try_expression)] @exit
((call_expression function: [(identifier) @_f (scoped_identifier name: (identifier) @_f)]) @exit (#any-of? @_f "exit" "abort" "catch_unwind" "set_hook" "take_hook"))
((macro_invocation macro: (identifier) @_m) @exit (#any-of? @_m "return_if" "bail" "ensure" "skip"))

(for_expression value: [(array_expression) (identifier)] @loop)
(for_expression value: (reference_expression value: [(array_expression) (identifier)] @loop))
(for_expression value: (call_expression function: (field_expression value: [(array_expression) (identifier)] @loop)))
(for_expression value: (macro_invocation (token_tree) @loop))

(const_item name: (identifier) @define.name)
(static_item name: (identifier) @define.name)
(let_declaration pattern: (identifier) @define.name)
(let_declaration pattern: (tuple_pattern (identifier) @define.name))
[
  (assignment_expression left: (_) @assign)
  (compound_assignment_expr left: (_) @assign)
]
[(field_expression) (index_expression) (unary_expression)] @member
(static_item (mutable_specifier) @reach)
(unsafe_block) @reach

[(integer_literal) (float_literal) (string_literal) (raw_string_literal) (char_literal) (boolean_literal)] @literal
(binary_expression operator: _ @operator)
(token_tree ["==" "!=" "<" ">" "<=" ">="] @operator)
((macro_invocation macro: (identifier) @judge) (#match? @judge "^assert"))
