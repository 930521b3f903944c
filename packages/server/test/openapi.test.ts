// The description of the API: a public linter finds nothing, and a TypeScript client made from it compiles and works.
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import openapiTS, { astToString } from 'openapi-typescript'
import { test } from 'tap'
import ts from 'typescript'
import { errorCodes } from '../src/errors.ts'
import { program } from './openapi/client-program.ts'
import { readDescription } from './openapi/description.ts'
import { runningApp } from './running-app.ts'

test('a public linter finds no fault in openapi.json', async (t) => {
  const config = await createConfig({
    extends: ['recommended'],
    // The published protocol has such paths: /backups/active and /backups/{backup}.
    rules: { 'no-ambiguous-paths': 'off' },
  })
  const source = JSON.stringify(await readDescription())
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  const lines = problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer ?? ''}`)
  t.strictSame([...new Set(lines)], [])
})

test('every error code is described with its status', async (t) => {
  const { schemas, responses } = (await readDescription()).components
  const codesOf = (name: string) => (schemas[name]!.properties as { code: { enum: string[] } }).code.enum
  t.strictSame(codesOf('Error'), [...errorCodes].sort())
  t.ok(codesOf('Error404').includes('collection_not_found'))
  t.ok(codesOf('Error400').includes('collection_not_found'), 'some routes of v1 send it with 400')
  t.notOk(codesOf('Error404').includes('invalid_argument'))
  for (const name of ['Error429', 'Error503', 'Error507'])
    t.ok('headers' in responses[name]!, `${name} has Retry-After`)
  t.notOk('headers' in responses.Error404!)
})

test('a generated TypeScript client compiles, refuses wrong programs, and works', async (t) => {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'annal-openapi-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const description = await readDescription()
  const types = astToString(await openapiTS(JSON.stringify(description)))
  const main = path.join(dir, 'main.ts')
  await symlink(fileURLToPath(new URL('../../../node_modules', import.meta.url)), path.join(dir, 'node_modules'))
  await writeFile(path.join(dir, 'package.json'), '{"type":"module"}')
  await writeFile(path.join(dir, 'schema.ts'), types)
  await writeFile(main, program)
  t.strictSame(faultsOf(main), [])

  const running = await runningApp(t)
  const { walk } = (await import(pathToFileURL(main).href)) as { walk(url: string): Promise<unknown> }
  t.match(await walk(running.url), {
    upserted: 3,
    found: ['a', 'c'],
    filtered: ['a'],
    count: 2,
    missing: 'collection_not_found',
    deleted: 'a',
    deletedWhere: 1,
    left: ['c'],
  })
})

/** An unused @ts-expect-error, which marks a line that must not compile, is a fault too. */
function faultsOf(main: string): string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    types: [],
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  }
  return ts.getPreEmitDiagnostics(ts.createProgram([main], options)).map((fault) => {
    const line = fault.file?.getLineAndCharacterOfPosition(fault.start ?? 0).line ?? 0
    const message = ts.flattenDiagnosticMessageText(fault.messageText, '\n')
    return `${path.basename(fault.file?.fileName ?? '')}:${line + 1}: ${message}`
  })
}
