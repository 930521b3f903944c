// A server without a license, the trial of a month, and a license entered by the operator.
import { issued } from '../licenses.ts'
import { rootToken } from './admin.ts'
import type { Transcript } from './transcript.ts'

const api = '/api/v2'
const root = { authorization: rootToken }
const times = { start_date: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, end_date: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/ }

const licenses: Transcript = {
  name: 'a server is tried, and licensed without a restart',
  steps: [
    { rows: ['3.3 GET /info'], send: ['GET', `${api}/info`, { headers: root }], status: 200, body: { license: null } },
    {
      rows: ['3.3 POST /admin/dbs'],
      send: ['POST', `${api}/admin/dbs`, { json: { db_name: 'acme' }, headers: root }],
      status: 402,
      body: { code: 'license_required' },
    },
    {
      rows: ['3.3 POST /license/generate'],
      send: ['POST', `${api}/license/generate`, { json: { email: 'somebody@example.com' } }],
      status: 401,
      body: { code: 'authorization_required' },
    },
    {
      rows: ['3.3 POST /license/generate'],
      send: ['POST', `${api}/license/generate`, { json: { email: 'somebody@example.com' }, headers: root }],
      status: 200,
      type: 'json',
      body: { message: /./ },
    },
    {
      rows: ['3.3 POST /license/generate'],
      send: ['POST', `${api}/license/generate`, { json: { email: 'somebody@example.com' }, headers: root }],
      status: 409,
      body: { code: 'trial_taken' },
    },
    {
      rows: ['3.3 GET /info'],
      send: ['GET', `${api}/info`, { headers: root }],
      status: 200,
      type: 'json',
      body: { license: { license_id: /./, plan_type: /./, status: 'active', ...times } },
    },
    {
      rows: ['3.3 POST /license/validate'],
      send: ['POST', `${api}/license/validate`, { body: 'no license', type: 'text/plain' }],
      status: 400,
    },
    {
      rows: ['3.3 POST /license/validate'],
      send: ['POST', `${api}/license/validate`, { body: issued({ id: 'L-1' }), type: 'text/plain' }],
      status: 200,
      type: 'json',
      body: { message: /./ },
    },
    {
      rows: ['3.3 GET /info'],
      send: ['GET', `${api}/info`, { headers: root }],
      status: 200,
      body: { license: { license_id: 'L-1', status: 'active', ...times } },
    },
    {
      rows: ['3.3 POST /admin/dbs'],
      send: ['POST', `${api}/admin/dbs`, { json: { db_name: 'acme' }, headers: root }],
      status: 201,
    },
  ],
}

export const license: readonly Transcript[] = [licenses]
