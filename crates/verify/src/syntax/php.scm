(class_declaration body: (declaration_list) @suite)
(method_declaration body: (compound_statement) @body) @function
(function_definition body: (compound_statement) @body) @function
[(anonymous_function) (arrow_function)] @function
(if_statement body: (compound_statement) @body)
(foreach_statement body: (compound_statement) @body)
(for_statement body: (compound_statement) @body)

((method_declaration name: (name) @test.name) @test (#match? @test.name "^test"))
((method_declaration (attribute_list) @_a name: (name) @test.name) @test (#match? @_a "Test\\b"))
((expression_statement [(member_call_expression name: (name) @_n) (scoped_call_expression name: (name) @_n) (function_call_expression function: (name) @_n)]) @assert
  (#match? @_n "^(assert|expect|fail|verify)"))

[(return_statement) (break_statement) (continue_statement) (throw_expression) (exit_statement)] @exit
([(member_call_expression name: (name) @_e) (scoped_call_expression name: (name) @_e)] @exit (#match? @_e "^(markTest.*|expectException.*|exit)$"))

((method_declaration name: (name) @_n body: (compound_statement (return_statement (array_creation_expression) @table) .))
  (#match? @_n "[pP]rovider|[rR]ows|[cC]ases|[dD]ata"))
(foreach_statement . [(array_creation_expression) (variable_name)] @loop)

(method_declaration name: (name) @define.name) @define
(class_declaration name: (name) @define.name) @define
(function_definition name: (name) @define.name) @define
(property_declaration) @define
(const_declaration (const_element (name) @define.name)) @define
(namespace_use_declaration (namespace_use_clause (qualified_name (name) @define.name))) @define
(expression_statement (assignment_expression left: (variable_name) @define.name))

[(assignment_expression left: (_) @assign) (augmented_assignment_expression left: (_) @assign) (update_expression (_) @assign)]
[(member_access_expression) (subscript_expression) (scoped_property_access_expression)] @member
((name) @reserved (#match? @reserved "^(setUp.*|tearDown.*|__.*|run(Bare|Test|.*InSeparateProcess)?|onNotSuccessfulTest)$"))
((name) @reserved (#match? @reserved "^assert(Pre|Post)Conditions$|^assert(Array(Not)?HasKey|ArrayIsEqualToArrayOnlyConsideringListOfKeys|Class(Not)?HasAttribute|Class(Not)?HasStaticAttribute|(Not)?Contains|(Not)?ContainsEquals|(Not)?ContainsOnly|ContainsOnlyArray|ContainsOnlyInstancesOf|(Not)?Count|DirectoryDoesNotExist|Directory(Not)?Exists|DirectoryIs(Not)?Readable|DirectoryIs(Not)?Writable|DoesNotMatchRegularExpression|(Not)?Empty|EqualXMLStructure|(Not)?Equals|(Not)?EqualsCanonicalizing|(Not)?EqualsIgnoringCase|(Not)?EqualsWithDelta|(Not)?False|FileDoesNotExist|File(Not)?Equals|File(Not)?EqualsCanonicalizing|File(Not)?EqualsIgnoringCase|File(Not)?Exists|FileIs(Not)?Readable|FileIs(Not)?Writable|FileMatchesFormat|FileMatchesFormatFile|Finite|GreaterThan|GreaterThanOrEqual|Infinite|(Not)?InstanceOf|Is(Not)?Array|Is(Not)?Bool|Is(Not)?Callable|Is(Not)?ClosedResource|Is(Not)?Float|Is(Not)?Int|Is(Not)?Iterable|Is(Not)?List|Is(Not)?Numeric|Is(Not)?Object|Is(Not)?Readable|Is(Not)?Resource|Is(Not)?Scalar|Is(Not)?String|Is(Not)?Writable|Json|JsonFile(Not)?EqualsJsonFile|JsonString(Not)?EqualsJsonFile|JsonString(Not)?EqualsJsonString|LessThan|LessThanOrEqual|MatchesRegularExpression|Nan|(Not)?Null|ObjectEquals|Object(Not)?HasAttribute|Object(Not)?HasProperty|(Not)?RegExp|(Not)?Same|(Not)?SameSize|String(Not)?ContainsString|String(Not)?ContainsStringIgnoringCase|StringContainsStringIgnoringLineEndings|StringEnds(Not)?With|String(Not)?EqualsFile|String(Not)?EqualsFileCanonicalizing|String(Not)?EqualsFileIgnoringCase|StringEqualsStringIgnoringLineEndings|String(Not)?MatchesFormat|String(Not)?MatchesFormatFile|StringStarts(Not)?With|That|(Not)?True|XmlFile(Not)?EqualsXmlFile|XmlString(Not)?EqualsXmlFile|XmlString(Not)?EqualsXmlString)$"))
((name) @reach (#any-of? @reach "eval" "runkit" "uopz" "register_shutdown_function" "runTest" "set_error_handler"))

[(integer) (float) (string) (encapsed_string) (boolean) (null)] @literal
(binary_expression operator: ["==" "!=" "===" "!==" "<" ">" "<=" ">="] @operator)
((member_call_expression name: (name) @judge) (#match? @judge "^assert"))
((scoped_call_expression name: (name) @judge) (#match? @judge "^assert"))
