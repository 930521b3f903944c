// Databases and tokens, with the root token and the token of a database.
import type { Answer, SendOptions } from '../running-app.ts'
import type { Step, Transcript } from './transcript.ts'
import { create } from './v2-collections.ts'

const api = '/api/v2'
export const rootToken = 'a-root-token-of-many-letters'
const root = { authorization: rootToken }
/** The header with which the published web UI acts for a database. */
const acting = { authorization: `root/acme:${rootToken}` }
const withToken = (before: Answer): SendOptions => ({ headers: { authorization: String(before.json().db_token) } })

const acme = { db_name: 'acme', db_type: 'Starter', is_active: true, created_at: Number }

const databases: Transcript = {
  name: 'a database is made, listed, described, stopped, retyped and deleted',
  steps: [
    {
      rows: ['3.3 POST /admin/dbs'],
      send: ['POST', `${api}/admin/dbs`, { json: { db_name: 'acme', db_type: 'starter' }, headers: root }],
      status: 201,
      type: 'json',
      body: { db_name: 'acme', db_token: /^acme:[^:]{32,}$/, db_type: 'Starter', message: /./ },
    },
    {
      rows: ['3.3 GET /dbs/{db}/info'],
      send: ['GET', `${api}/dbs/acme/info`],
      after: withToken,
      status: 200,
      type: 'json',
      body: acme,
    },
    ...[{ db_name: 'acme' }, { db_name: 'b', db_type: 'huge' }, { db_name: 'a:b' }, {}].map(
      (json, i): Step => ({
        rows: ['3.3 POST /admin/dbs'],
        send: ['POST', `${api}/admin/dbs`, { json, headers: root }],
        status: i === 0 ? 409 : 400,
      }),
    ),
    {
      rows: ['3.3 GET /admin/dbs'],
      send: ['GET', `${api}/admin/dbs`, { headers: root }],
      status: 200,
      type: 'json',
      body: { dbs: [{ db_name: 'default' }, acme] },
    },
    {
      rows: ['3.3 GET /dbs/{db}/info'],
      send: ['GET', `${api}/dbs/acme/info`, { headers: root }],
      status: 200,
      body: acme,
    },
    { rows: ['3.3 GET /dbs/{db}/info'], send: ['GET', `${api}/dbs/absent/info`, { headers: root }], status: 404 },
    {
      rows: ['3.3 PUT /admin/dbs/{db}/type'],
      send: ['PUT', `${api}/admin/dbs/acme/type`, { json: { db_type: 'enterprise' }, headers: root }],
      status: 200,
      type: 'json',
      body: { db_type: 'Enterprise' },
    },
    {
      rows: ['3.3 PUT /admin/dbs/{db}/type'],
      send: ['PUT', `${api}/admin/dbs/acme/type`, { json: { db_type: 'huge' }, headers: root }],
      status: 400,
    },
    {
      rows: ['3.3 PUT /admin/dbs/{db}/type'],
      send: ['PUT', `${api}/admin/dbs/absent/type`, { json: { db_type: 'pro' }, headers: root }],
      status: 404,
    },
    ...(['deactivate', 'activate'] as const).flatMap((verb): Step[] => [
      {
        rows: ['3.3 POST /admin/dbs/{db}/activate'],
        send: ['POST', `${api}/admin/dbs/acme/${verb}`, { headers: root }],
        status: 200,
        type: 'json',
      },
      {
        rows: ['3.3 POST /admin/dbs/{db}/activate'],
        send: ['POST', `${api}/admin/dbs/absent/${verb}`, { headers: root }],
        status: 404,
      },
    ]),
    {
      rows: ['3.3 DELETE /admin/dbs/{db}'],
      send: ['DELETE', `${api}/admin/dbs/acme`, { headers: root }],
      status: 200,
      type: 'json',
    },
    {
      rows: ['3.3 DELETE /admin/dbs/{db}'],
      send: ['DELETE', `${api}/admin/dbs/acme`, { headers: root }],
      status: 404,
    },
  ],
}

const made: Step = {
  rows: ['3.3 POST /admin/dbs'],
  send: ['POST', `${api}/admin/dbs`, { json: { db_name: 'acme', db_type: 'enterprise' }, headers: root }],
  status: 201,
}

const collections: Transcript = {
  name: 'the collections of databases are listed and deleted by root',
  steps: [
    made,
    { ...create, send: [create.send[0], create.send[1], { ...create.send[2], headers: acting }] },
    {
      rows: ['3.3 GET /admin/dbs/{db}/collection'],
      send: ['GET', `${api}/admin/dbs/acme/collection`, { headers: root }],
      status: 200,
      type: 'json',
      body: { collections: ['docs'] },
    },
    {
      rows: ['3.3 GET /admin/dbs/{db}/collection'],
      send: ['GET', `${api}/admin/dbs/absent/collection`, { headers: root }],
      status: 404,
    },
    {
      rows: ['3.3 GET /admin/collection'],
      send: ['GET', `${api}/admin/collection`, { headers: root }],
      status: 200,
      type: 'json',
      body: {
        collections: [
          { db_name: 'default', collections: [] },
          { db_name: 'acme', collections: ['docs'] },
        ],
      },
    },
    {
      rows: ['3.3 DELETE /admin/dbs/{db}/collection/{c}'],
      send: ['DELETE', `${api}/admin/dbs/acme/collection/docs`, { headers: root }],
      status: 200,
      type: 'json',
    },
    {
      rows: ['3.3 DELETE /admin/dbs/{db}/collection/{c}'],
      send: ['DELETE', `${api}/admin/dbs/acme/collection/docs`, { headers: root }],
      status: 404,
    },
  ],
}

const byRoot = { path: `${api}/admin/dbs/acme/tokens`, headers: root }
const byItself = { path: `${api}/tokens`, headers: acting }
const own = '3.3 POST / GET / DELETE /tokens[/{name}]'

const tokens: Transcript = {
  name: 'tokens are minted, listed and revoked',
  steps: [
    made,
    ...[byRoot, byItself].flatMap(({ path, headers }): Step[] => {
      const row = (ofRoot: string) => [path === byItself.path ? own : ofRoot]
      const name = path === byItself.path ? 'mine' : 'reader'
      const create = row('3.3 POST /admin/dbs/{db}/tokens')
      return [
        {
          rows: create,
          send: ['POST', path, { json: { name, token_type: 'r' }, headers }],
          status: 201,
          type: 'json',
          body: { db_token: /^acme:[^:]{32,}$/, name, token_type: 'r' },
        },
        { rows: create, send: ['GET', `${api}/collection`], after: withToken, status: 200 },
        { rows: create, send: ['POST', path, { json: { name, token_type: 'r' }, headers }], status: 409 },
        { rows: create, send: ['POST', path, { json: { name: 'x', token_type: 'w' }, headers }], status: 400 },
        {
          rows: row('3.3 GET /admin/dbs/{db}/tokens'),
          send: ['GET', path, { headers }],
          status: 200,
          type: 'json',
          body: {
            tokens: [
              { name: 'default', token_type: 'rw', created_at: Number },
              { name, token_type: 'r' },
            ],
          },
        },
        {
          rows: row('3.3 DELETE /admin/dbs/{db}/tokens/{name}'),
          send: ['DELETE', `${path}/${name}`, { headers }],
          status: 200,
          type: 'json',
        },
        {
          rows: row('3.3 DELETE /admin/dbs/{db}/tokens/{name}'),
          send: ['DELETE', `${path}/${name}`, { headers }],
          status: 404,
        },
      ]
    }),
  ],
}

export const admin: readonly Transcript[] = [databases, collections, tokens]
