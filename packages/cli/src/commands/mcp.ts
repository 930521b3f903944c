// `annal mcp`: tools for an agent over standard input and output (Model Context Protocol). They only read, unless the command allows
// writing.
import type { Client, Filter, SearchRequest, TextMatch } from '@annal/client'
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { jsonText } from '../formats/json-text.ts'
import { jsonLine } from '../formats/jsonl.ts'
import { version } from '../version.ts'

export interface McpOptions extends ConnectionOptions {
  readonly allowWrites?: boolean
}

const collection = z.string().describe('Name of a collection')
const filter = z
  .array(z.record(z.string(), z.unknown()))
  .optional()
  .describe('Conditions that must all hold, such as [{"year":{"$range":[1970,1989]}},{"genre":{"$in":["horror"]}}]')
const clause = z.union([z.string(), z.record(z.string(), z.union([z.string(), z.number()]))])
const clauses = z.strictObject({
  must: z.array(clause).optional(),
  should: z.array(clause).optional(),
  must_not: z.array(clause).optional(),
})
const match = z
  .record(z.string(), z.object({ query: z.union([z.string(), clauses]), operator: z.enum(['or', 'and']).optional() }))
  .optional()
  .describe(
    'By field of type text: words that its text must have, such as {"body":{"query":"pump valve","operator":"and"}}',
  )
const vector = z.array(z.number())
const terms = z.object({ indices: z.array(z.number().int()), values: vector })
const limit = z.number().int().min(1).max(100).optional()

/** Resolves when the peer closes the connection. */
export function serveMcp(options: McpOptions): Promise<number> {
  return withClient(options, async (client) => {
    const server = new McpServer({ name: 'annal', version })
    reading(server, client)
    if (options.allowWrites) writing(server, client)
    const closed = new Promise<void>((resolve) => {
      server.server.onclose = resolve
      process.stdin.once('end', resolve)
    })
    await server.connect(new StdioServerTransport())
    await closed
    await server.close()
    return 0
  })
}

const readOnly = { annotations: { readOnlyHint: true } }

function reading(server: McpServer, client: Client): void {
  server.registerTool(
    'list_collections',
    { description: 'Lists all collections with their fields and counts', inputSchema: z.object({}), ...readOnly },
    async () => answer(await client.listCollections()),
  )
  server.registerTool(
    'search',
    {
      description: 'Finds the nearest objects in one or more fields; with several fields, it also returns a fused list',
      inputSchema: z.object({
        collection,
        fields: z
          .record(
            z.string(),
            z.object({
              query: z.union([
                z.string(),
                z.object({ text: z.string() }),
                vector,
                terms,
                z.array(vector),
                z.object({ id: z.string() }),
                clauses,
              ]),
              limit,
            }),
          )
          .describe(
            'By field name: words or {"must","should","must_not"} for a field of type text, {"text"} for a vector field with "embed", a vector, sparse terms, or {"id"} to search near a stored object',
          ),
        filter,
        include_vectors: z.boolean().optional(),
        include_texts: z.boolean().optional().describe('Default true: hits have the texts of their objects'),
      }),
      ...readOnly,
    },
    async ({ collection, fields, filter, include_vectors, include_texts = true }) => {
      const fusion = Object.keys(fields).length > 1 ? ({ method: 'rrf' } as const) : undefined
      // The server validates the clauses.
      const queries = fields as SearchRequest['fields']
      const contents = { includeVectors: include_vectors, includeTexts: include_texts }
      const request = { fields: queries, filter: conditions(filter), ...contents, fusion }
      return answer(await client.collection(collection).search(request))
    },
  )
  server.registerTool(
    'get_objects',
    {
      description: 'Reads objects by id, with metadata, filter values, texts, and vectors',
      inputSchema: z.object({
        collection,
        ids: z.array(z.string()).max(100),
        include_vectors: z.boolean().optional(),
        include_texts: z.boolean().optional(),
      }),
      ...readOnly,
    },
    async ({ collection, ids, include_vectors, include_texts = true }) => {
      const options = { includeVectors: include_vectors, includeTexts: include_texts }
      return lines((await client.collection(collection).getMany(ids, options)).map(jsonLine))
    },
  )
  server.registerTool(
    'list_objects',
    {
      description: 'Pages through the objects that match a filter; pass the cursor to get the next page',
      inputSchema: z.object({ collection, filter, match, limit, cursor: z.string().optional() }),
      ...readOnly,
    },
    async ({ collection, filter, match, limit = 20, cursor }) => {
      const request = { filter: conditions(filter), match: texts(match), limit, cursor }
      const page = await client.collection(collection).scroll(request)
      return lines([...page.objects.map(jsonLine), JSON.stringify({ cursor: page.cursor ?? null })])
    },
  )
  server.registerTool(
    'count_objects',
    {
      description: 'Counts the objects that match a filter',
      inputSchema: z.object({ collection, filter, match }),
      ...readOnly,
    },
    async ({ collection, filter, match }) => {
      const given = texts(match)
      const request = given ? { filter: conditions(filter), match: given } : conditions(filter)
      return answer({ count: await client.collection(collection).count(request) })
    },
  )
  server.registerTool(
    'facets',
    {
      description: 'Counts the values of a filter key among the objects that match',
      inputSchema: z.object({ collection, key: z.string(), filter, match, limit }),
      ...readOnly,
    },
    async ({ collection, key, filter, match, limit }) =>
      answer(
        await client.collection(collection).facets({ key, filter: conditions(filter), match: texts(match), limit }),
      ),
  )
}

function writing(server: McpServer, client: Client): void {
  server.registerTool(
    'upsert_objects',
    {
      description:
        'Stores objects atomically and replaces objects with the same ids; the objects are durable when the call returns. A vector field with "embed" gets its vectors from the text field that it names',
      inputSchema: z.object({
        collection,
        objects: z
          .array(
            z.object({
              id: z.string(),
              meta: z.record(z.string(), z.json()).optional(),
              filter: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
              fields: z.record(z.string(), z.union([z.string(), vector, terms, z.array(vector)])),
            }),
          )
          .max(1_000),
      }),
      annotations: { idempotentHint: true },
    },
    async ({ collection, objects }) => answer(await client.collection(collection).upsert(objects)),
  )
  server.registerTool(
    'delete_objects',
    {
      description: 'Deletes the objects that match a filter; an empty filter deletes nothing',
      inputSchema: z.object({ collection, filter: filter.unwrap() }),
      annotations: { destructiveHint: true },
    },
    async ({ collection, filter }) =>
      answer({ deleted: await client.collection(collection).deleteWhere(conditions(filter) ?? []) }),
  )
}

/** The server validates the conditions on texts. */
function texts(match: Readonly<Record<string, object>> | undefined): TextMatch | undefined {
  return match as TextMatch | undefined
}

/** The server validates the conditions. */
function conditions(filter: readonly object[] | undefined): Filter | undefined {
  return filter as Filter | undefined
}

function answer(value: unknown) {
  return lines([jsonText(value)])
}

/** Characters of one reply: more than an agent can read, and far less than a process can hold. */
const answerCharactersMax = 4_194_304

function lines(texts: readonly string[]) {
  const characters = texts.reduce((sum, text) => sum + text.length, 0)
  if (characters > answerCharactersMax) {
    const advice = 'request fewer objects, or leave out the vectors'
    throw new Error(`the reply has ${characters} characters, more than ${answerCharactersMax}; ${advice}`)
  }
  return { content: [{ type: 'text' as const, text: texts.map((text) => text.trimEnd()).join('\n') }] }
}
