use crate::pins::testing::Little;

#[test]
fn files_that_settings_of_javascript_name_are_frozen_and_the_work_is_not() {
    let little = Little::new(&[
        (
            "package.json",
            r#"{"main": "src/index.js", "scripts": {"test": "NODE_OPTIONS='--require ./config/first.js' jest"}, "jest": {"setupFiles":
            ["./config/env.js"], "globalSetup": "<rootDir>/config/global", "transform": {"\\.txt$": "./tools/text.js"},
            "moduleNameMapper": {"\\.css$": "<rootDir>/config/cssMock.js", "^app$": "<rootDir>/src/app.js"},
            "collectCoverageFrom": ["src/app.js"]}}"#,
        ),
        ("config/env.js", "require('./deeper');\n"),
        ("config/first.js", ""),
        ("config/global.ts", ""),
        ("config/cssMock.js", ""),
        ("config/other.js", ""),
        ("tools/text.js", ""),
        ("src/app.js", ""),
        ("src/index.js", ""),
        (
            "web/jest.config.js",
            "const base = require('../config/base');\nmodule.exports = { ...base, rootDir: '..', resolver: '<rootDir>/tools/resolve.cjs' };\n",
        ),
        ("config/base.js", "module.exports = { ...require('./common'), testEnvironment: './environment.js' };\n"),
        ("config/common.js", ""),
        ("config/environment.js", "require('./deeper');\n"),
        ("config/deeper.js", ""),
        ("tools/resolve.cjs", ""),
        (".mocharc.yml", "require:\n  - ts-node/register\n  - config/hooks\n"),
        ("config/hooks.js", ""),
        (
            "tsconfig.json",
            "{\n  // The base.\n  \"extends\": \"./tsconfig.base.json\",\n  \"ts-node\": {\"require\": [\"./config/paths.js\"]},\n  \"files\": [\"src/app.js\"]\n}\n",
        ),
        ("config/paths.js", ""),
        (
            "vite.config.ts",
            "export default { build: { lib: { entry: 'src/index.js' } }, test: { setupFiles: ['./config/other.js'] } };\n",
        ),
    ]);
    little.expect(
        "npm test && mocha --require ./config/hooks.js --file=src/index.js",
        "config/env.js Frozen
         config/first.js Frozen
         config/global.ts Frozen
         config/cssMock.js Frozen
         config/base.js Frozen
         config/common.js Frozen
         config/environment.js Frozen
         config/deeper.js Modules
         config/hooks.js Frozen
         config/paths.js Frozen
         config/other.js Modules
         tools/text.js Frozen
         tools/resolve.cjs Frozen
         src/app.js Modules
         src/index.js Frozen
         package.json Parts",
    );
    little.expect("npx vitest run", "config/other.js Frozen\nsrc/index.js Modules");
}

#[test]
fn plugins_that_settings_of_pytest_name_are_frozen() {
    let little = Little::new(&[
        ("conftest.py", "pytest_plugins = [\n    \"support.fixtures\",\n    'support.more',\n]\n"),
        ("support/fixtures.py", ""),
        ("support/more/__init__.py", "pytest_plugins = 'support.deep'\n"),
        ("support/deep.py", ""),
        ("support/other.py", ""),
        ("setup.cfg", "[tool:pytest]\naddopts = -p plugins.first --cov=calc\n    -p no:cacheprovider\n"),
        ("plugins/first.py", ""),
        ("plugins/second.py", ""),
        ("third.py", ""),
        ("calc.py", ""),
        ("tests/test_calc.py", ""),
    ]);
    little.expect(
        "PYTEST_PLUGINS=third python -m pytest -p plugins.second tests",
        "support/fixtures.py Frozen
         support/more/__init__.py Frozen
         support/deep.py Frozen
         support/other.py -
         plugins/first.py Frozen
         plugins/second.py Frozen
         third.py Frozen
         calc.py -",
    );
}
