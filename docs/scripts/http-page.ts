// Generates the reference page of the HTTP interface from the description that a server serves.
import { createApp, EngineSlot, readConfig } from '@annal/server'

interface Schema {
  readonly $ref?: string
  readonly additionalProperties?: Schema | boolean
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly maxItems?: number
}

interface Content {
  readonly [type: string]: { readonly schema: Schema & { readonly examples?: readonly unknown[] } }
}

interface Operation {
  readonly summary: string
  readonly tags: readonly string[]
  readonly security?: readonly unknown[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: { readonly [status: string]: { readonly description?: string; readonly content?: Content } }
}

interface Description {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly schemas: { readonly [name: string]: Schema } }
}

const chapters = { v2: 'Version 2', v1: 'Version 1', operations: 'Operations' }

export async function httpPage(): Promise<string> {
  const { config } = readConfig({})
  const app = createApp({ slot: new EngineSlot(), config: { ...config, logLevel: 'silent' } })
  const { paths, components } = (await app.inject({ url: '/api/v2/openapi.json' })).json<Description>()
  await app.close()
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  return [
    '# Every HTTP call',
    '',
    'This page is generated from the description at `/api/v2/openapi.json`. [HTTP](http.md) has the conventions, limits, and the meaning of the',
    'parts of bodies. [Errors](errors.md) explains every error.',
    ...Object.entries(chapters).flatMap(([tag, title]) => [
      '',
      `## ${title}`,
      ...operations.filter(({ operation }) => operation.tags.includes(tag)).flatMap(chapter),
    ]),
    '',
    '## Types',
    '',
    'Parts of bodies and replies that several calls share.',
    ...Object.entries(components.schemas)
      .filter(([name]) => !name.startsWith('Error'))
      .flatMap(([name, schema]) => ['', `### ${name}`, ...typeText(schema)]),
    '',
  ].join('\n')
}

function chapter({ path, method, operation }: { path: string; method: string; operation: Operation }): string[] {
  const { summary, security, requestBody, responses } = operation
  const body = requestBody?.content['application/json']?.schema
  const msgpack = requestBody?.content['application/msgpack']?.schema.description
  const [status = '200', success] = Object.entries(responses).find(([name]) => name.startsWith('2')) ?? []
  const reply = success?.content?.['application/json']?.schema
  return [
    '',
    `### ${method} \`${path}\``,
    '',
    `${inText(summary)}${security?.length === 0 ? ' Needs no token.' : ''}`,
    ...(body?.properties ? ['', ...table('in the body', body)] : []),
    ...(body && !body.properties ? ['', `Body: ${typeOf(body)}.`] : []),
    ...(msgpack === undefined ? [] : ['', `In MessagePack: ${inText(msgpack)}`]),
    '',
    `Success is ${status}. ${inText(success?.description ?? '')}`,
    ...(reply === undefined ? [] : ['', `Reply in JSON: ${typeOf(reply)}.`]),
  ]
}

function typeText(schema: Schema): string[] {
  const description = schema.description === undefined ? [] : ['', inText(schema.description)]
  if (schema.properties) return [...description, '', ...table('member', schema)]
  if (schema.anyOf) return [...description, '', ...schema.anyOf.map((form) => `- ${formText(form)}`)]
  return [...description, '', `Type: ${typeOf(schema)}.`]
}

/** An alternative of a type: its members in one line. */
function formText(schema: Schema): string {
  if (!schema.properties) return typeOf(schema)
  const members = Object.entries(schema.properties).map(([name, member]) => `\`${name}\`: ${typeOf(member)}`)
  return [members.join(', '), inText(schema.description ?? '')].filter((part) => part !== '').join('. ')
}

function table(heading: string, schema: Schema): string[] {
  return [`| ${heading} | type | |`, '|---|---|---|', ...members(schema)]
}

function members({ properties = {}, required = [] }: Schema): string[] {
  return Object.entries(properties).map(([name, schema]) => {
    const notes = [required.includes(name) ? 'required' : '', inText(schema.description ?? '')]
    return `| \`${name}\` | ${typeOf(schema)} | ${notes.filter((note) => note !== '').join('; ')} |`
  })
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
    return `[${name}](#${name.toLowerCase()})`
  }
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.enum) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ')
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ')
  if (schema.type === 'array') return `list of ${schema.items ? typeOf(schema.items) : 'anything'}${limits(schema)}`
  if (schema.properties) {
    return `object with ${Object.keys(schema.properties)
      .map((name) => `\`${name}\``)
      .join(', ')}`
  }
  const values = schema.additionalProperties
  if (typeof values === 'object') return `object with a value for each key: ${typeOf(values)}`
  return `${[schema.type ?? 'anything'].flat().join(' or ')}${limits(schema)}`
}

function limits({ minimum, maximum, maxLength, maxItems }: Schema): string {
  const said = [
    minimum === undefined ? '' : `at least ${minimum}`,
    maximum === undefined ? '' : `at most ${maximum}`,
    maxLength === undefined ? '' : `at most ${maxLength} characters`,
    maxItems === undefined ? '' : `at most ${maxItems}`,
  ].filter((part) => part !== '')
  return said.length === 0 ? '' : `, ${said.join(', ')}`
}

/** Escapes markup, and bars, which would end a table cell. */
function inText(sentence: string): string {
  return sentence.replace(/[|<>{}[\]]/g, (letter) => `&#${letter.charCodeAt(0)};`)
}
