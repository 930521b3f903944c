import { execFileSync } from 'node:child_process'

const { NDD_SERVER_URL: url, ANNAL_TOKEN: token, ANNAL_BACKUP_TO: bucket, ANNAL_BACKUP_KEEP: keep = '7' } = process.env

async function ask(method, route) {
  const reply = await fetch(`${url}/api/v2/${route}`, { method, headers: { authorization: token } })
  if (!reply.ok) throw new Error(`${method} ${route}: ${reply.status} ${await reply.text()}`)
  return reply.json()
}

const { collections } = await ask('GET', 'collection')
const time = new Date().toISOString().replaceAll(/[-:]|\..*/g, '')
let failed = 0
for (const { name } of collections) {
  const prefix = `nightly-${name}-`
  try {
    const to = bucket ? ['--to', bucket] : []
    execFileSync('annal', ['backup', 'create', name, `${prefix}${time}`, ...to], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    console.log(`${prefix}${time}`)
    // Not those of a collection whose name only begins with this one.
    const isOurs = (one) => one.startsWith(prefix) && /^\d{8}T\d{6}$/.test(one.slice(prefix.length))
    const made = Object.keys(await ask('GET', 'backups')).filter(isOurs)
    for (const old of made.sort().slice(0, -Number(keep))) await ask('DELETE', `backups/${old}`)
  } catch (error) {
    failed += 1
    console.error(`${name}: ${error.message}`)
  }
}
process.exit(failed === 0 ? 0 : 1)
