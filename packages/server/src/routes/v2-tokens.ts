// Tokens of a database: for the root token under /api/v2/admin/dbs/{database}/tokens, and for the database itself under
// /api/v2/tokens.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { enterpriseOnly } from '../access/access.ts'
import { asAuthor } from '../http/author.ts'
import { once, secretReply } from '../http/request-keys.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import type { RouteContext } from '../route-context.ts'
import { nameParam } from '../wire/schema.ts'
import {
  type CreateTokenBody,
  createTokenBody,
  databaseChildParams,
  databaseParam,
  mintToken,
  readTokenKind,
  tokenInfo,
} from '../wire/v2-admin.ts'

type Of = { Params: { database: string } }

interface TokenPlace {
  /** Path without the name of a token. */
  readonly path: string
  /** Schema of the path without the name of a token, and with it. */
  readonly params: readonly [of: object | undefined, child: object]
  readonly docs: TokenDocs
  databaseOf(request: FastifyRequest): string
}

/** Adds the routes that create, list, and delete tokens. */
export function v2TokenRoutes(app: FastifyInstance, { slot, config }: RouteContext): void {
  const control = () => slot.engine().control
  const places: readonly TokenPlace[] = [
    {
      path: '/admin/dbs/:database/tokens',
      params: [databaseParam, databaseChildParams],
      docs: docsFor('of a database', 'control', 'control'),
      databaseOf: (request) => (request.params as Of['Params']).database,
    },
    {
      path: '/tokens',
      params: [undefined, nameParam],
      docs: docsFor('of the database the token opens', 'read', 'write'),
      databaseOf(request) {
        if (config.rootToken === undefined) throw enterpriseOnly()
        return request.database.name
      },
    },
  ]
  for (const { path, params, docs, databaseOf } of places) {
    const [parent, child] = params.map((schema) => (schema === undefined ? {} : { params: schema }))
    const create = {
      schema: { ...parent, body: createTokenBody },
      config: { doc: docs.create, audit: 'token.create', requestKey: secretReply },
    }
    app.post<{ Body: CreateTokenBody }>(path, create, async (request, reply) => {
      const { name, token_type: type } = request.body
      const database = databaseOf(request)
      const { secret, facts } = mintToken(database, name, readTokenKind(type))
      const made = await asAuthor(request, () => control().putToken(database, facts))
      return reply.code(201).send({ ...tokenInfo(made), db_token: secret, lsn: made.lsn, durable: made.durable })
    })

    app.get(path, { schema: { ...parent }, config: { doc: docs.list } }, async (request) => ({
      tokens: control().tokens(databaseOf(request)).map(tokenInfo),
    }))

    const config = { doc: docs.remove, audit: 'token.delete', requestKey: 'kept' } as const
    const remove = { schema: { ...child }, config }
    app.delete<{ Params: { name: string } }>(`${path}/:name`, remove, async (request, reply) => {
      const deleted = await once(request, reply, async (requestKey) =>
        control().deleteToken(databaseOf(request), request.params.name, { requestKey }),
      )
      return { message: 'Token deleted', ...deleted }
    })
  }
}

type TokenDocs = { readonly [K in 'create' | 'list' | 'remove']: RouteDoc }

function docsFor(owner: string, look: RouteDoc['access'], change: RouteDoc['access']): TokenDocs {
  return {
    create: {
      access: change,
      summary: `Creates a token ${owner}.`,
      reply: { description: 'db_token is in this reply only.', status: 201, json: 'TokenCreated' },
    },
    list: {
      access: look,
      summary: `Lists the tokens ${owner}.`,
      reply: {
        description: 'tokens: the name, type, and creation time of each. The tokens themselves are not stored.',
        json: 'Tokens',
      },
    },
    remove: {
      access: change,
      summary: `Deletes a token ${owner}. It is invalid from the next request on.`,
      reply: { description: 'The token is deleted.', json: 'Acknowledged' },
    },
  }
}
