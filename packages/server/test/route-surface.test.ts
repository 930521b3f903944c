// The input that routes accept, from their schemas: a route that accepted a path or an address would be found here.
import { test } from 'tap'
import { runningApp } from './running-app.ts'

/** Words in the name of a parameter whose value is a path, a program, or a pattern. */
const suspicious =
  /(^|_)(path|file|filename|dir|directory|folder|url|uri|host|address|endpoint|script|code|command|cmd|exec|eval|regex|regexp|pattern|template)s?($|_)/i

/** Its name is looked up among the files that were read when the server started. */
const lookedUp = '/assets/{file}'

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
interface Operation {
  readonly parameters?: readonly { readonly name: string }[]
  readonly requestBody?: unknown
}

test('no body and no query of any route accepts a path, an address, code, or a pattern', async (t) => {
  const running = await runningApp(t)
  const { paths } = (await running.send('GET', '/api/v2/openapi.json')).json() as unknown as Described
  let looked = 0
  for (const [path, operations] of Object.entries(paths)) {
    if (path === lookedUp) continue
    for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
      const names = [...parameters.map(({ name }) => name), ...propertiesOf(requestBody)]
      looked += names.length
      t.strictSame(
        names.filter((name) => suspicious.test(name)),
        [],
        `${method} ${path}`,
      )
    }
  }
  t.ok(looked > 60, `${looked} names looked at`)
})

/** Names of all properties in a schema. */
function propertiesOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const own = (schema as { readonly properties?: object }).properties ?? {}
  return [...Object.keys(own), ...Object.values(schema).flatMap(propertiesOf)]
}
