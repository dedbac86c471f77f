//! The projects of the corpus in Java, Ruby, PHP and C.

use super::project::{Bug, Language, Project};
use super::tools::Tool;

/// Java with `JUnit` through Maven, which finds everything in the packages of Debian and starts no second virtual machine.
pub fn maven() -> Project {
    let bug = Bug { path: "src/main/java/Calc.java", wrong: "return a - b;", right: "return a + b;" };
    Project::new(Language::Java, &[Tool::Maven], "mvn test", bug)
        .file(".gitignore", "/target/\n")
        .file(".mvn/maven.config", "--offline --batch-mode -Dmaven.repo.local=/usr/share/maven-repo\n")
        .file(".mvn/jvm.config", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC\n")
        .file(
            "pom.xml",
            "\
<project xmlns=\"http://maven.apache.org/POM/4.0.0\">
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId>
  <artifactId>calc</artifactId>
  <version>1.0</version>
  <properties>
    <forkCount>0</forkCount>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>junit</groupId>
      <artifactId>junit</artifactId>
      <version>4.x</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
</project>
",
        )
        .file(
            "src/main/java/Calc.java",
            "\
public final class Calc {
    private Calc() {
    }

    public static int add(int a, int b) {
        return a - b;
    }

    public static int twice(int a) {
        return a * 2;
    }
}
",
        )
        .file(
            "src/test/java/CalcTest.java",
            "\
import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class CalcTest {
    @Test
    public void adds() {
        assertEquals(5, Calc.add(2, 3));
    }

    @Test
    public void doubles() {
        assertEquals(8, Calc.twice(4));
    }
}
",
        )
}

/// The same through Gradle.
pub fn gradle() -> Project {
    maven()
        .without("pom.xml")
        .without(".mvn/maven.config")
        .without(".mvn/jvm.config")
        .needing(Tool::Gradle)
        .check("gradle --offline --no-daemon --gradle-user-home .gradle/user test")
        .file(".gitignore", "/build/\n/.gradle/\n")
        .file("settings.gradle", "rootProject.name = 'calc'\n")
        .file(
            "build.gradle",
            "\
apply plugin: 'java'

repositories {
    maven { url 'file:///usr/share/maven-repo' }
}

dependencies {
    testCompile 'junit:junit:4.x'
}
",
        )
}

/// Ruby with minitest.
pub fn minitest() -> Project {
    let bug = Bug { path: "lib/calc.rb", wrong: "    a - b\n", right: "    a + b\n" };
    Project::new(Language::Ruby, &[Tool::Ruby], "ruby -Ilib test/calc_test.rb -v", bug)
        .file(
            "lib/calc.rb",
            "\
module Calc
  def self.add(a, b)
    a - b
  end

  def self.double(a)
    a * 2
  end
end
",
        )
        .file(
            "test/calc_test.rb",
            "\
require \"minitest/autorun\"
require \"calc\"

class CalcTest < Minitest::Test
  def test_add
    assert_equal 5, Calc.add(2, 3)
  end

  def test_double
    assert_equal 8, Calc.double(4)
  end
end
",
        )
}

/// PHP with `PHPUnit`.
pub fn phpunit() -> Project {
    let bug = Bug { path: "src/Calc.php", wrong: "return $a - $b;", right: "return $a + $b;" };
    Project::new(Language::Php, &[Tool::Phpunit], "phpunit --do-not-cache-result tests", bug)
        .file(
            "src/Calc.php",
            "\
<?php

final class Calc
{
    public static function add(int $a, int $b)
    {
        return $a - $b;
    }

    public static function double(int $a)
    {
        return $a * 2;
    }
}
",
        )
        .file(
            "tests/CalcTest.php",
            "\
<?php

use PHPUnit\\Framework\\TestCase;

require_once __DIR__ . '/../src/Calc.php';

final class CalcTest extends TestCase
{
    public function testAdd(): void
    {
        $this->assertEquals(5, Calc::add(2, 3));
    }

    public function testDouble(): void
    {
        $this->assertEquals(8, Calc::double(4));
    }
}
",
        )
}

/// C with `CTest`.
pub fn ctest() -> Project {
    let bug = Bug { path: "src/calc.c", wrong: "return a - b;", right: "return a + b;" };
    Project::new(
        Language::C,
        &[Tool::Ctest, Tool::Cc, Tool::Make],
        "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
        bug,
    )
    .file(".gitignore", "/build/\n")
    .file(
        "CMakeLists.txt",
        "\
cmake_minimum_required(VERSION 3.10)
project(calc C)
enable_testing()
add_library(calc src/calc.c)
target_include_directories(calc PUBLIC src)
add_executable(calc_tests tests/calc.c)
target_link_libraries(calc_tests calc)
add_test(NAME calc COMMAND calc_tests)
",
    )
    .file("src/calc.h", "int add(int a, int b);\nint twice(int a);\n")
    .file(
        "src/calc.c",
        "\
#include \"calc.h\"

int add(int a, int b)
{
    return a - b;
}

int twice(int a)
{
    return a * 2;
}
",
    )
    .file(
        "tests/calc.c",
        "\
#include <assert.h>
#include \"calc.h\"

static void test_add(void)
{
    assert(add(2, 3) == 5);
}

static void test_twice(void)
{
    assert(twice(4) == 8);
}

int main(void)
{
    test_add();
    test_twice();
    return 0;
}
",
    )
}
