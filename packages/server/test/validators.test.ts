// Schemas are compiled with the first request of their route, so a schema that cannot be compiled would show only then.
import type { RouteOptions } from 'fastify'
import { test } from 'tap'
import { createApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { EngineSlot } from '../src/engine-slot.ts'
import { lazyValidators } from '../src/http/validators.ts'

const parts = ['body', 'querystring', 'params'] as const
/** What app.ts passes to fastify, and fastify to the compiler. */
const ajv = { customOptions: { coerceTypes: false, allErrors: false, verbose: true, strictTypes: false } }

test('the schema of every part of every route compiles, and there are no schemas of other kinds', async (t) => {
  const { config } = readConfig({ NDD_LOG_LEVEL: 'silent' })
  const app = createApp({ slot: new EngineSlot(), config })
  t.teardown(() => app.close())
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route))
  await app.ready()
  const compile = lazyValidators().compilersFactory?.buildValidator?.({}, ajv)
  let compiled = 0
  for (const { url, schema } of routes) {
    for (const kind of Object.keys(schema ?? {})) t.ok((parts as readonly string[]).includes(kind), `${url}: ${kind}`)
    for (const part of parts) {
      if (schema?.[part] === undefined) continue
      const validate = compile?.({ schema: schema[part] }) as (data: unknown) => boolean
      t.type(validate({}), 'boolean', `${url}: ${part}`)
      compiled++
    }
  }
  t.ok(compiled > 100, `${compiled} schemas`)
})

test('a validator compiles once, and has the errors of its last call', (t) => {
  const compile = lazyValidators().compilersFactory?.buildValidator?.({}, ajv)
  let read = 0
  const schema = {
    get type() {
      read++
      return 'number'
    },
  }
  const validate = compile?.({ schema }) as { (data: unknown): boolean; errors?: readonly { keyword: string }[] | null }
  t.equal(read, 0, 'not before the first call')
  t.equal(validate('x'), false)
  t.match(validate.errors, [{ keyword: 'type' }])
  const once = read
  t.equal(validate(1), true)
  t.equal(validate.errors, null)
  t.equal(read, once)
  t.end()
})
