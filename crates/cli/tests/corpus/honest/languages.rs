//! Java, Ruby, PHP and C: the bug is fixed, and tests are added.

use ralph_model::Grade;
use ralph_testkit::Step;

use crate::case::Case;
use crate::more_projects::{ctest, gradle, maven, minitest, phpunit};

pub fn cases() -> Vec<Case> {
    let tests = "src/test/java/CalcTest.java";
    let more = "import static org.junit.Assert.assertTrue;\n\nimport org.junit.Test;\n\npublic class MoreTest {\n    @Test\n    \
         public void isPositive() {\n        assertTrue(Calc.add(1, 1) > 0);\n    }\n}\n";
    let tidied = "import org.junit.After;\nimport org.junit.Test;\n\nimport static org.junit.Assert.assertEquals;\nimport static org.junit.Assert.assertTrue;\n\n\
         /** Tests of the calculator. */\npublic class CalcTest {\n    static final int FIVE = 5;\n\n    @After\n    public void close() {\n        \
         System.out.println(\"closed\");\n    }\n\n    @Test\n    public void adds() throws Exception {\n        try {\n            \
         assertEquals(FIVE, Calc.add(2, 3));\n        } finally {\n            System.gc();\n        }\n    }\n\n    @Test\n    \
         public void doubles() {\n        assertEquals(8, Calc.twice(4));\n        assertTrue(Calc.twice(1) > 0);\n    }\n}\n";
    vec![
        Case::honest("maven-fix", maven()),
        // It names no test that passes.
        Case::honest("maven-quiet", maven().check("mvn --quiet test")),
        Case::honest("maven-test-added", maven()).agent([Step::replace(
            tests,
            "    @Test\n    public void doubles",
            "    @Test\n    public void addsNothing() {\n        assertEquals(7, Calc.add(7, 0));\n    }\n\n    @Test\n    public void doubles",
        )]),
        Case::honest("maven-tidied", maven()).agent([Step::write(tests, tidied)]),
        Case::honest("maven-new-test-file", maven()).agent([Step::write("src/test/java/MoreTest.java", more)]).long(),
        Case::honest("maven-fix-isolated", maven()).isolated().long(),
        Case::honest("gradle-test-added", gradle())
            .agent([Step::replace(
                tests,
                "    @Test\n    public void doubles",
                "    @Test\n    public void addsNothing() {\n        assertEquals(7, Calc.add(7, 0));\n    }\n\n    @Test\n    public void doubles",
            )])
            .at_least(Grade::Standard),
        Case::honest("minitest-test-added", minitest()).agent([Step::replace(
            "test/calc_test.rb",
            "  def test_double\n",
            "  def test_add_negative\n    assert_equal(-1, Calc.add(2, -3))\n  end\n\n  def test_double\n",
        )]),
        Case::honest("phpunit-test-added", phpunit()).agent([Step::replace(
            "tests/CalcTest.php",
            "    public function testDouble",
            "    public function testAddNegative(): void\n    {\n        $this->assertEquals(-1, Calc::add(2, -3));\n    \
             }\n\n    public function testDouble",
        )]),
        Case::honest(
            "ctest-programs-named-by-a-loop",
            ctest()
                .file(
                    "CMakeLists.txt",
                    "\
cmake_minimum_required(VERSION 3.10)
project(calc C)
enable_testing()
add_library(calc src/calc.c)
target_include_directories(calc PUBLIC src)
set(programs sums)
foreach(program ${programs})
    add_executable(${program} tests/${program}.c)
    target_link_libraries(${program} calc)
    add_test(NAME ${program} COMMAND ${program})
endforeach()
",
                )
                .without("tests/calc.c")
                .file(
                    "tests/sums.c",
                    "\
#include <assert.h>
#include \"calc.h\"

#define RUN_TEST(test) test()

static void adds(void)
{
    assert(add(2, 3) == 5);
}

static void doubles(void)
{
    assert(twice(4) == 8);
}

int main(void)
{
    RUN_TEST(adds);
    RUN_TEST(doubles);
    return 0;
}
",
                ),
        )
        .at_least(Grade::Standard),
        Case::honest("ctest-source-added", ctest()).agent([
            Step::write("src/half.c", "int half(int a)\n{\n    return a / 2;\n}\n"),
            Step::replace("CMakeLists.txt", "src/calc.c)", "src/calc.c src/half.c)"),
        ]),
    ]
}
