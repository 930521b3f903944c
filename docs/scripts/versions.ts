// A folder with the site of each version, and above them their list and a page that leads to the newest.
import { readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Lists the versions that are in the folder, the newest first, and leads readers without a version to it. */
export function listVersions(out: string): void {
  const numbers = (name: string) => name.split('.').map(Number)
  const versions = readdirSync(out)
    .filter((name) => /^\d+\.\d+\.\d+$/.test(name))
    .sort((a, b) => {
      const [x, y] = [numbers(a), numbers(b)]
      const index = x.findIndex((number, i) => number !== y[i])
      return index === -1 ? 0 : (y[index] ?? 0) - (x[index] ?? 0)
    })
  writeFileSync(path.join(out, 'versions.json'), `${JSON.stringify({ versions })}\n`)
  writeFileSync(
    path.join(out, 'index.html'),
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Annal</title><meta http-equiv="refresh" content="0; url=./${versions[0]}/"><a href="./${versions[0]}/">Annal ${versions[0]}</a></html>\n`,
  )
}
