; Blocks
((call_expression function: (_) @_f arguments: (arguments [(arrow_function body: (statement_block) @suite) (function_expression body: (statement_block) @suite)]))
  (#match? @_f "^(x?describe|suite|x?context)([.(`]|$)"))
((call_expression function: (_) @_f arguments: (arguments [(arrow_function body: (statement_block) @body) (function_expression body: (statement_block) @body)]))
  (#match? @_f "^(x?it|x?test|specify|bench|(t|tap|tape|Deno|QUnit)\\.test|before(Each|All)?|after(Each|All)?|[A-Za-z.]+\\.forEach)([.(`]|$)"))
((call_expression function: (_) @_f arguments: (arguments [(arrow_function body: (statement_block) @closed) (function_expression body: (statement_block) @closed)]))
  (#match? @_f "\\.(fails|failing|todo|skip)"))
(function_declaration body: (statement_block) @body)
(if_statement consequence: (statement_block) @body)
(else_clause (statement_block) @body)
(for_in_statement body: (statement_block) @body)
(for_statement body: (statement_block) @body)
(while_statement body: (statement_block) @body)
[(arrow_function) (function_expression) (function_declaration) (method_definition) (generator_function_declaration)] @function

; Tests
((call_expression function: (_) @_f arguments: (arguments . [(string) (template_string)] @test.name)) @test
  (#match? @_f "^(x?it|x?test|specify|bench|(t|tap|tape|Deno|QUnit)\\.test)([.(`]|$)"))
((expression_statement [(call_expression function: (_) @_f) (await_expression (call_expression function: (_) @_f))]) @assert
  (#match? @_f "^(expect|assert|should|t\\.|chai|QUnit\\.)|[aA]ssert|^(check|verify)|^(not)?([sS]trict|[dD]eep|[dD]eepStrict)?[eE]quals?$|\\.should\\b"))
([(arrow_function body: [(call_expression function: (_) @_f) (await_expression (call_expression function: (_) @_f))] @assert)
  (return_statement [(call_expression function: (_) @_f) (await_expression (call_expression function: (_) @_f))] @assert)]
  (#match? @_f "^(expect|assert|should|t\\.|chai|QUnit\\.)|[aA]ssert|^(not)?([sS]trict|[dD]eep|[dD]eepStrict)?[eE]quals?$|\\.should\\b"))

; What ends or skips early
[(return_statement) (break_statement) (continue_statement) (throw_statement) (yield_expression)] @exit
((call_expression function: [(identifier) @_e (member_expression property: (property_identifier) @_e)]) @exit
  (#any-of? @_e "exit" "abort" "kill" "skip" "skipAll" "done" "end" "pass" "plan" "bailout" "stop" "todo" "reallyExit"))

; Tables
((call_expression function: (member_expression property: (property_identifier) @_p) arguments: (arguments . [(array) (identifier)] @table))
  (#any-of? @_p "each" "for"))
((call_expression function: (member_expression object: [(array) (identifier)] @table property: (property_identifier) @_p)
    arguments: (arguments (_ body: (statement_block . (expression_statement (call_expression function: (_) @_f)) .))))
  (#eq? @_p "forEach") (#match? @_f "^(it|test|describe|context)"))
((call_expression function: (member_expression object: [(array) (identifier)] @loop property: (property_identifier) @_p)) (#eq? @_p "forEach"))
(for_in_statement right: [(array) (identifier)] @loop)

; Definitions
((expression_statement (call_expression function: [(identifier) (member_expression)] @_f arguments: (arguments . [(string) (template_string) (identifier) (member_expression)]))) @define
  (#match? @_f "^(x?describe|suite|x?context|x?it|x?test|specify|bench|(tap|Deno|QUnit)\\.test)(\\.(each|for|skip|todo|concurrent|sequential|failing|fails|skipIf|runIf|serial))*$"))
((expression_statement (call_expression function: (call_expression function: (member_expression) @_f) arguments: (arguments . [(string) (template_string)]))) @define
  (#match? @_f "^(x?describe|suite|x?context|x?it|x?test|specify|bench|(tap|Deno|QUnit)\\.test)(\\.(each|for|skip|todo|concurrent|sequential|failing|fails|skipIf|runIf|serial))*\\.(each|for|skipIf|runIf)$"))
((expression_statement (call_expression function: (identifier) @_f arguments: (arguments . [(arrow_function) (function_expression)]))) @define
  (#match? @_f "^(before|after)(Each|All)?$"))
((for_in_statement body: (statement_block (expression_statement (call_expression function: (_) @_f)))) @define
  (#match? @_f "^(describe|it|test)(\\.each)?$"))
((expression_statement (call_expression function: (member_expression object: [(array) (identifier)] property: (property_identifier) @_p)
    arguments: (arguments (_ body: (statement_block . (expression_statement (call_expression function: (_) @_f))))))) @define
  (#eq? @_p "forEach") (#match? @_f "^(describe|it|test)(\\.each)?$"))
(function_declaration name: (identifier) @define.name) @define
(class_declaration name: (type_identifier) @define.name) @define
(interface_declaration name: (type_identifier) @define.name) @define
(type_alias_declaration name: (type_identifier) @define.name) @define
(enum_declaration name: (identifier) @define.name) @define
(lexical_declaration (variable_declarator name: (identifier) @define.name)) @define
(variable_declaration (variable_declarator name: (identifier) @define.name)) @define
(lexical_declaration (variable_declarator name: (object_pattern) @names)) @define
(lexical_declaration (variable_declarator name: (array_pattern))) @define
(variable_declarator name: (object_pattern [(shorthand_property_identifier_pattern) @define.name (pair_pattern value: (identifier) @define.name)]))
(variable_declarator name: (array_pattern (identifier) @define.name))
(variable_declarator name: (object_pattern (object_assignment_pattern left: (shorthand_property_identifier_pattern) @define.name)))
(variable_declarator name: (object_pattern (rest_pattern (identifier) @define.name)))
(variable_declarator name: (object_pattern (pair_pattern value: (array_pattern (identifier) @define.name))))
(variable_declarator name: (object_pattern (pair_pattern value: (object_pattern
  [(shorthand_property_identifier_pattern) @define.name (pair_pattern value: (identifier) @define.name)]))))
(variable_declarator name: (object_pattern (pair_pattern value: (_ (pair_pattern value: [(object_pattern) (array_pattern)] @reach)))))
(import_statement (import_clause) @names) @define
(import_clause (identifier) @define.name)
(namespace_import (identifier) @define.name)
(named_imports) @names
(import_specifier !alias name: (identifier) @define.name)
(import_specifier alias: (identifier) @define.name)
(formal_parameters) @params

; Assignments
[
  (assignment_expression left: (_) @assign)
  (augmented_assignment_expression left: (_) @assign)
  (update_expression argument: (_) @assign)
  (unary_expression operator: "delete" argument: (_) @assign)
]
(for_in_statement !kind left: (_) @assign)
[(member_expression) (subscript_expression) (non_null_expression)] @member

; Names
([(identifier) (type_identifier) (shorthand_property_identifier_pattern)] @reserved
  (#match? @reserved "^(Array|Boolean|Error|Function|JSON|Map|Math|Number|Object|Promise|Proxy|React|Reflect|Set|String|Symbol|assert|console|describe|expect|exports|global|globalThis|it|module|process|require|test|__.*)$"))
((identifier) @shared
  (#any-of? @shared "expect" "assert" "test" "it" "describe" "suite" "context" "jest" "vi" "mock" "chai" "should" "sinon" "globalThis"
    "global" "window" "self" "module" "exports" "require" "Object" "Array" "Promise" "Error" "process" "console" "Math" "JSON"))
([(identifier) (property_identifier)] @reach
  (#any-of? @reach "only" "fit" "fdescribe" "fcontext" "ddescribe" "iit" "defineProperty" "defineProperties" "setPrototypeOf" "__proto__"
    "prototype" "Reflect" "eval" "Function" "addSnapshotSerializer" "addEqualityTesters" "setState" "reallyExit"))
((pair key: [(property_identifier) (string)] @reach) (#match? @reach "^.?(only).?$"))
((subscript_expression object: (identifier) @_o) @reach (#any-of? @_o "test" "it" "describe" "expect" "jest" "vi" "mock" "globalThis" "global"))
((member_expression object: (identifier) @_o property: (property_identifier) @_p) @reach
  (#any-of? @_o "jest" "vi" "mock")
  (#not-any-of? @_p "fn" "spyOn" "mocked" "isMockFunction" "method" "getter" "setter" "reset" "restoreAll" "timers" "clearAllMocks"
    "resetAllMocks" "restoreAllMocks" "useFakeTimers" "useRealTimers" "setSystemTime" "getRealSystemTime" "advanceTimersByTime"
    "advanceTimersByTimeAsync" "runAllTimers" "runAllTimersAsync" "runOnlyPendingTimers" "clearAllTimers" "waitFor" "setTimeout" "calls" "results" "instances"))
((member_expression object: (identifier) @_o property: (property_identifier) @_p) @reach (#eq? @_o "expect") (#eq? @_p "extend"))
((member_expression object: (identifier) @_o property: (property_identifier) @_p) @reach (#any-of? @_o "test" "it") (#any-of? @_p "use" "beforeEach" "beforeAll" "extend"))

; What can be changed
[(number) (string) (template_string) (true) (false) (null) (undefined)] @literal
(binary_expression operator: _ @operator)
((member_expression property: (property_identifier) @judge) (#match? @judge "^(to[A-Z]|equal|strictEqual|deepEqual|deepStrictEqual|notEqual|notStrictEqual|ok|is$|not$|same|eql|throws$|doesNotThrow$|rejects$|doesNotReject$|match$|doesNotMatch$|above$|below$|least$|most$)"))
