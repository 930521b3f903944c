// Backups as the clients of both versions create, transfer, and restore them.
import type { Answer, SendOptions } from '../running-app.ts'
import type { Step, Transcript } from './transcript.ts'
import { pythonCreate } from './v1-indexes.ts'
import { create } from './v2-collections.ts'

const none = new Uint8Array(0)
const params = {
  M: 16,
  ef_construction: 128,
  dim: 4,
  sparse_model: 'None',
  space_type: 'cosine',
  quant_level: 32,
  total_elements: 1,
  checksum: -1,
}
const v1 = '/api/v1'
const v2 = '/api/v2'

/** The downloaded bytes, unchanged. */
const sameBytes = ({ bytes }: Answer): SendOptions => ({ body: bytes, type: 'application/x-tar' })

/** The downloaded bytes, in the form of a file upload of a browser. */
function asForm(filename: string) {
  return ({ bytes }: Answer): SendOptions => {
    const head = `--part\r\nContent-Disposition: form-data; name="backup"; filename="${filename}"\r\n\r\n`
    const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--part--\r\n')])
    return { body, type: 'multipart/form-data; boundary=part' }
  }
}

const ofIndexes: Transcript = {
  name: 'an index is backed up, carried away, brought back and restored',
  steps: [
    { rows: ['2.2 POST /index/create'], send: ['POST', `${v1}/index/create`, { json: pythonCreate }], status: 200 },
    {
      rows: ['2.2 POST /index/{n}/vector/insert'],
      send: ['POST', `${v1}/index/docs/vector/insert`, { msgpack: [['a', none, '{}', 1, [1, 0, 0, 0]]] }],
      status: 200,
    },
    { rows: ['2.2 GET /backups'], send: ['GET', `${v1}/backups`], status: 200, type: 'json', body: {} },
    {
      rows: ['2.2 POST /index/{n}/backup'],
      send: ['POST', `${v1}/index/docs/backup`, { json: { name: 'nightly' } }],
      status: 202,
      type: 'json',
      body: { backup_name: 'nightly', status: 'in_progress' },
    },
    {
      rows: ['2.2 GET /backups/active'],
      send: ['GET', `${v1}/backups/active`],
      status: 200,
      type: 'json',
      eventually: { active: false },
    },
    {
      rows: ['2.2 POST /index/{n}/backup'],
      send: ['POST', `${v1}/index/docs/backup`, { json: { name: 'nightly' } }],
      status: 400,
    },
    {
      rows: ['2.2 POST /index/{n}/backup'],
      send: ['POST', `${v1}/index/docs/backup`, { json: { name: 'no/path' } }],
      status: 400,
    },
    {
      rows: ['2.2 GET /backups'],
      send: ['GET', `${v1}/backups`],
      status: 200,
      type: 'json',
      body: { nightly: { original_index: 'docs', timestamp: Number, size_mb: Number, params } },
    },
    {
      rows: ['2.2 GET /backups/{b}/info'],
      send: ['GET', `${v1}/backups/nightly/info`],
      status: 200,
      type: 'json',
      body: { original_index: 'docs', timestamp: Number, size_mb: Number, params },
    },
    { rows: ['2.2 GET /backups/{b}/info'], send: ['GET', `${v1}/backups/absent/info`], status: 404 },
    ...restores(),
    { rows: ['2.2 GET /backups/{b}/download'], send: ['GET', `${v1}/backups/absent/download`], status: 404 },
    {
      rows: ['2.2 GET /backups/{b}/download'],
      send: ['GET', `${v1}/backups/nightly/download`],
      status: 200,
      type: 'tar',
    },
    {
      rows: ['2.2 POST /backups/upload'],
      send: ['POST', `${v1}/backups/upload`],
      after: asForm('carried.tar'),
      status: 201,
      type: 'text',
      body: 'Backup uploaded successfully',
    },
    { rows: ['2.2 GET /backups/{b}/download'], send: ['GET', `${v1}/backups/nightly/download`], status: 200 },
    {
      rows: ['2.2 POST /backups/upload'],
      send: ['POST', `${v1}/backups/upload`],
      after: asForm('carried.tar'),
      status: 409,
    },
    { rows: ['2.2 GET /backups/{b}/info'], send: ['GET', `${v1}/backups/carried/info`], status: 200, body: { params } },
    { rows: ['2.2 DELETE /backups/{b}'], send: ['DELETE', `${v1}/backups/nightly`], status: 204 },
    { rows: ['2.2 DELETE /backups/{b}'], send: ['DELETE', `${v1}/backups/nightly`], status: 400 },
  ],
}

function restores(): Step[] {
  const row = '2.2 POST /backups/{b}/restore'
  const restore = (backup: string, json: object): Step['send'] => ['POST', `${v1}/backups/${backup}/restore`, { json }]
  return [
    { rows: [row], send: restore('nightly', {}), status: 400 },
    { rows: [row], send: restore('absent', { target_index_name: 'other' }), status: 400 },
    { rows: [row], send: restore('nightly', { target_index_name: 'docs' }), status: 400 },
    {
      rows: [row],
      send: restore('nightly', { target_index_name: 'other' }),
      status: 201,
      type: 'text',
      body: 'Backup restored successfully',
    },
    { rows: [row], send: ['GET', `${v1}/index/other/info`], status: 200, body: { total_elements: 1, dimension: 4 } },
  ]
}

const ofCollections: Transcript = {
  name: 'a collection is backed up, carried away, brought back and restored',
  steps: [
    create,
    {
      rows: ['3.3 GET /status/backup', '3.10 backup status by database'],
      send: ['GET', `${v2}/status/backup`],
      status: 200,
      type: 'json',
      body: { status: 'idle' },
    },
    {
      rows: ['3.3 POST /collection/{c}/backup'],
      send: ['POST', `${v2}/collection/docs/backup`, { json: { name: 'one' } }],
      status: 202,
      type: 'json',
      body: { backup_name: 'one', status: 'in_progress' },
    },
    {
      rows: ['3.3 GET /backup/active', '3.10 backup status as active'],
      send: ['GET', `${v2}/backup/active`],
      status: 200,
      type: 'json',
      eventually: { active: false },
    },
    {
      rows: ['3.3 GET /status/backup', '3.10 backup status by database'],
      send: ['GET', `${v2}/status/backup`],
      status: 200,
      body: { status: 'completed' },
    },
    {
      rows: ['3.3 POST /collection/{c}/backup'],
      send: ['POST', `${v2}/collection/docs/backup`, { json: { name: 'one' } }],
      status: 409,
    },
    {
      rows: ['3.3 POST /collection/{c}/backup'],
      send: ['POST', `${v2}/collection/docs/backup`, { json: { name: '../one' } }],
      status: 400,
    },
    {
      rows: ['3.3 POST /collection/{c}/backup'],
      send: ['POST', `${v2}/collection/absent/backup`, { json: { name: 'two' } }],
      status: 404,
    },
    {
      rows: ['3.3 GET /backup'],
      send: ['GET', `${v2}/backup`],
      status: 200,
      type: 'json',
      body: { one: { original_collection: 'docs', original_index: 'docs' } },
    },
    { rows: ['3.3 GET /backup'], send: ['GET', `${v2}/backups`], status: 200, body: { one: {} } },
    {
      rows: ['3.3 GET /backup/{b}/info'],
      send: ['GET', `${v2}/backup/one/info`],
      status: 200,
      type: 'json',
      body: { original_collection: 'docs', timestamp: Number, size_mb: Number, params: { dim: 3 }, fields: Array },
    },
    { rows: ['3.3 GET /backup/{b}/info'], send: ['GET', `${v2}/backup/absent/info`], status: 404 },
    {
      rows: ['3.3 POST /backup/{b}/restore'],
      send: ['POST', `${v2}/backup/absent/restore`, { json: { target_collection_name: 'other' } }],
      status: 404,
    },
    {
      rows: ['3.3 POST /backup/{b}/restore'],
      send: ['POST', `${v2}/backup/one/restore`, { json: { target_collection_name: 'docs' } }],
      status: 409,
    },
    {
      rows: ['3.3 POST /backup/{b}/restore'],
      send: ['POST', `${v2}/backup/one/restore`, { json: {} }],
      status: 400,
    },
    {
      rows: ['3.3 POST /backup/{b}/restore', '3.10 restore accepted as 201'],
      send: ['POST', `${v2}/backup/one/restore`, { json: { target_collection_name: 'other' } }],
      status: 201,
      type: 'json',
    },
    {
      rows: ['3.3 GET /status/backup', '3.10 backup status by database'],
      send: ['GET', `${v2}/status/restore`],
      status: 200,
      body: { status: 'completed' },
    },
    { rows: ['3.3 GET /backup/{b}/download'], send: ['GET', `${v2}/backup/absent/download`], status: 404 },
    { rows: ['3.3 GET /backup/{b}/download'], send: ['GET', `${v2}/backup/one/download`], status: 200, type: 'tar' },
    {
      rows: ['3.3 POST /backup/upload', '3.10 upload as it is'],
      send: ['POST', `${v2}/backup/upload?name=two`],
      after: sameBytes,
      status: 201,
    },
    { rows: ['3.3 GET /backup/{b}/download'], send: ['GET', `${v2}/backup/two/download`], status: 200 },
    {
      rows: ['3.3 POST /backup/upload', '3.10 upload as a form'],
      send: ['POST', `${v2}/backup/upload`],
      after: asForm('three.tar'),
      status: 201,
    },
    {
      rows: ['3.3 POST /backup/upload'],
      send: ['POST', `${v2}/backup/upload?name=four`, { body: 'no backup', type: 'application/x-tar' }],
      status: 400,
    },
    { rows: ['3.3 DELETE /backup/{b}'], send: ['DELETE', `${v2}/backup/three`], status: 200, type: 'json' },
    { rows: ['3.3 DELETE /backup/{b}'], send: ['DELETE', `${v2}/backup/three`], status: 404 },
  ],
}

export const backups: readonly Transcript[] = [ofIndexes, ofCollections]
