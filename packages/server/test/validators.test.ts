// Schemas are compiled with the first request of their route, so a schema that cannot be compiled would show only then.
import type { RouteOptions } from 'fastify'
import { test } from 'tap'
import { createApp } from '../src/app.ts'
import { collectGarbage } from '../src/collector.ts'
import { readConfig } from '../src/config.ts'
import { EngineSlot } from '../src/engine-slot.ts'
import { lazyValidators } from '../src/http/validators.ts'

type Validate = (data: unknown) => true | { readonly error: readonly { readonly keyword: string }[] }

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
      const validate = compile?.({ schema: schema[part] }) as Validate
      const result = validate({})
      t.ok(result === true || (Array.isArray(result.error) && result.error.length > 0), `${url}: ${part}`)
      compiled++
    }
  }
  t.ok(compiled > 100, `${compiled} schemas`)
})

test('a validator compiles once, returns the errors of its call, and keeps no value', async (t) => {
  const compile = lazyValidators().compilersFactory?.buildValidator?.({}, ajv)
  let read = 0
  const schema = {
    get type() {
      read++
      return 'number'
    },
  }
  const validate = compile?.({ schema }) as Validate
  t.equal(read, 0, 'not before the first call')
  t.match(validate('x'), { error: [{ keyword: 'type' }] })
  const once = read
  t.equal(validate(1), true)
  t.equal(read, once)
  const refused = (() => {
    const value = { large: true }
    validate(value)
    return new WeakRef(value)
  })()
  // A value stays until the end of the turn in which a reference to it was made.
  await new Promise((resolve) => setImmediate(resolve))
  collectGarbage()
  t.equal(refused.deref(), undefined)
})
