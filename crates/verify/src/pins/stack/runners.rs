//! Runners about which nothing has to be known but files: one row each.

use ralph_model::PinKind::{Absent, Frozen, Installed, Steering};
use ralph_model::Runner;

use crate::pins::path;
use crate::pins::pinset::{covered, covers_any};
use crate::pins::question::{Layers, Project, add as pin};

struct Row {
    runner: Runner,
    /// Test files and what belongs to them.
    tests: &'static [&'static str],
    /// What steers it, whether it is there or not.
    steering: &'static [&'static str],
    /// What steers it and is also written in honest work, so that new ones may appear.
    existing: &'static [&'static str],
    /// What would be loaded in place of a part of it.
    shadows: &'static [&'static str],
    installed: &'static [&'static str],
}

const NOTHING: Row =
    Row { runner: Runner::Bats, tests: &[], steering: &[], existing: &[], shadows: &[], installed: &[] };

/// Modules of Ruby that its runners load. Rake and RSpec look into `lib` first.
const RUBY: &str = "/lib/{English,bigdecimal,benchmark,coverage,date,delegate,digest,erb,etc,fileutils,forwardable,json,logger,\
                    monitor,mutex_m,objspace,open3,optparse,ostruct,pathname,pp,prettyprint,rbconfig,ripper,securerandom,set,shellwords,\
                    singleton,stringio,strscan,tempfile,thread,time,timeout,tmpdir,tsort,uri,weakref,yaml}.rb";

const ROWS: [Row; 13] = [
    Row {
        runner: Runner::Rspec,
        tests: &["/spec/", "*_spec.rb"],
        steering: &[".rspec", ".rspec-local", ".simplecov", ".bundle/config"],
        existing: &["Rakefile", "Gemfile"],
        shadows: &[
            "rspec.rb",
            "**/rspec/{core,expectations,mocks,support,autorun}.rb",
            "**/rspec/{core,expectations}/**",
            RUBY,
        ],
        installed: &[],
    },
    Row {
        runner: Runner::Minitest,
        tests: &["/test/", "*_test.rb", "test_*.rb"],
        // Plugins are loaded from every folder that Ruby looks into.
        steering: &["**/minitest/*_plugin.rb", ".test-unit.yml", ".simplecov", ".bundle/config"],
        existing: &["Rakefile", "Gemfile"],
        shadows: &[
            "minitest.rb",
            "**/minitest/{autorun,test,unit,spec,assertions,expectations,mock}.rb",
            "**/test/unit.rb",
            RUBY,
        ],
        installed: &[],
    },
    Row {
        runner: Runner::Phpunit,
        tests: &["/tests/", "/test/", "*Test.php", "*.phpt"],
        steering: &["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml", "/php.ini", "/.user.ini"],
        existing: &["composer.json"],
        shadows: &[],
        installed: &[
            "/vendor/{phpunit,sebastian,pestphp,mockery,brianium}/**",
            "/vendor/bin/*",
            "/vendor/composer/autoload_files.php",
        ],
    },
    Row {
        runner: Runner::Junit,
        tests: &["**/src/test/", "**/src/*Test/", "*Test.{java,kt}", "*Tests.{java,kt}", "/Test*.java", "*IT.java"],
        // Options that Maven takes as if they were on its command line; what JUnit finds among the classes.
        steering: &[
            "/.mvn/**",
            "gradle.properties",
            "init.gradle*",
            "junit-platform.properties",
            "**/META-INF/services/org.junit*",
            // Gradle builds it first, and what it does there it can do to the build itself.
            "/buildSrc/**",
        ],
        existing: &[
            "pom.xml",
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "/gradle/**",
        ],
        // Of two build files in one folder Gradle takes one.
        shadows: &[
            "**/org/junit/**",
            "**/junit/framework/**",
            "**/org/hamcrest/**",
            "**/org/opentest4j/**",
            "**/org/assertj/**",
            "**/org/apache/maven/surefire/**",
            "**/org/gradle/**",
            "/build.gradle",
            "/build.gradle.kts",
            "/settings.gradle",
            "/settings.gradle.kts",
        ],
        installed: &[],
    },
    Row {
        runner: Runner::Dotnet,
        tests: &["*Test.cs", "*Tests.cs", "**/*.Tests/**/*.cs"],
        steering: &[
            "*.runsettings",
            "Directory.{Build,Packages}.{props,targets}",
            "xunit.runner.json",
            "testconfig.json",
            "[nN]u[gG]et.[cC]onfig",
            "global.json",
        ],
        existing: &["*.csproj", "*.sln"],
        ..NOTHING
    },
    Row {
        runner: Runner::Ctest,
        tests: &["/test/", "/tests/", "*_test.{c,cc,cpp,h}", "test_*.{c,cc,cpp,h}", "*{Test,Tests}.{cc,cpp}"],
        steering: &["CTestConfig.cmake", "CTestCustom.cmake", "DartConfiguration.tcl"],
        existing: &["CMakeLists.txt", "CMakePresets.json", "*.cmake"],
        ..NOTHING
    },
    Row {
        runner: Runner::Deno,
        tests: &["*_test.{ts,tsx,mts,js,mjs,jsx}", "/test.{ts,tsx,mts,js,mjs,jsx}"],
        steering: &["deno.json", "deno.jsonc", "import_map.json"],
        ..NOTHING
    },
    Row {
        runner: Runner::Bun,
        tests: &["*_test.{ts,tsx,js,jsx}", "*_spec.{ts,tsx,js,jsx}"],
        steering: &["tsconfig.json"],
        ..NOTHING
    },
    Row {
        runner: Runner::Ava,
        tests: &["test.{js,cjs,mjs}", "test-*.{js,cjs,mjs}"],
        steering: &["ava.config.*"],
        ..NOTHING
    },
    Row { runner: Runner::NodeTest, tests: &["{*-test,*_test,test-*,test}.{js,cjs,mjs,ts,cts,mts}"], ..NOTHING },
    Row { runner: Runner::Tape, tests: &["/test.{js,cjs,mjs}"], ..NOTHING },
    Row { runner: Runner::Tap, tests: &["/test.{js,cjs,mjs,ts}"], steering: &[".taprc", ".tap/plugins/**"], ..NOTHING },
    Row { runner: Runner::Bats, tests: &["*.bats", "test_helper/", "/test/", "/tests/"], ..NOTHING },
];

pub(super) fn add(project: &Project<'_>, layers: &mut Layers) {
    for row in ROWS.iter().filter(|row| project.runners.contains(&row.runner)) {
        let (tests, steers) = (format!("{} tests", row.runner), format!("steers {}", row.runner));
        for glob in row.tests {
            pin(&mut layers.tests, Frozen, &tests, *glob);
        }
        for glob in row.steering {
            pin(&mut layers.steering, Steering, &steers, *glob);
        }
        for file in covered(row.existing, project.files) {
            pin(&mut layers.steering, Frozen, &steers, path::exact(file));
        }
        for glob in row.shadows.iter().filter(|glob| !covers_any(&[**glob], project.files)) {
            pin(&mut layers.absent, Absent, &format!("would shadow a part of {}", row.runner), *glob);
        }
        for glob in row.installed {
            pin(&mut layers.installed, Installed, "installed runner", *glob);
        }
    }
}
