//! Ruby, PHP and C: the bug is fixed, and tests are added.

use ralph_testkit::Step;

use crate::case::Case;
use crate::more_projects::{ctest, minitest, phpunit};

pub fn cases() -> Vec<Case> {
    vec![
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
        Case::honest("ctest-source-added", ctest()).agent([
            Step::write("src/half.c", "int half(int a)\n{\n    return a / 2;\n}\n"),
            Step::replace("CMakeLists.txt", "src/calc.c)", "src/calc.c src/half.c)"),
        ]),
    ]
}
