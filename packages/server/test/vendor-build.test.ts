// A build for a vendor, as tsup creates it: licenses of the vendor are accepted, and no others, for any environment.
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { test } from 'tap'
import { createLicenseKeys, readConfig } from '../src/index.ts'
import { vendorDefines } from '../vendor-key.ts'
import { issued, vendor } from './licenses.ts'
import { send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const forger = createLicenseKeys()

test('an invalid key makes the build fail', (t) => {
  t.same(vendorDefines({}), {})
  t.same(vendorDefines({ ANNAL_VENDOR_KEY: '' }), {})
  for (const key of ['x', `${vendor.publicKey}=`, vendor.privateKey])
    t.throws(() => vendorDefines({ ANNAL_VENDOR_KEY: key }), /ANNAL_VENDOR_KEY/)
  t.end()
})

test('a build for a vendor accepts the licenses of its vendor and no others', { timeout: 120_000 }, async (t) => {
  // Inside the package, whose dependencies it needs.
  const dir = await mkdtemp(path.join(root, 'dist-vendor-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  await build({
    entryPoints: [path.join(root, 'src/index.ts'), path.join(root, 'src/main.ts')],
    outdir: dir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    external: ['#kernel/*'],
    define: vendorDefines({ ANNAL_VENDOR_KEY: vendor.publicKey }),
  })
  const { readConfig: readVendorConfig, builtInPublicKey } = (await import(
    pathToFileURL(path.join(dir, 'index.js')).href
  )) as { readonly readConfig: typeof readConfig; readonly builtInPublicKey: string }
  t.equal(builtInPublicKey, vendor.publicKey)
  t.throws(() => readVendorConfig({ NDD_LICENSE_PUBLIC_KEY: forger.publicKey }), /only the licenses of its vendor/)
  t.doesNotThrow(() => readVendorConfig({ NDD_LICENSE_PUBLIC_KEY: vendor.publicKey }))
  t.doesNotThrow(
    () => readConfig({ NDD_LICENSE_PUBLIC_KEY: forger.publicKey }),
    'any other build takes the key it is given',
  )

  const settings = { NDD_DATA_DIR: await temporaryDirectory(t), NDD_ROOT_TOKEN: '5f0e1d2c3b4a59687786958473625140' }
  const main = path.join(dir, 'main.js')
  const refused = startProcess({ ...settings, NDD_LICENSE_PUBLIC_KEY: forger.publicKey }, main)
  t.not((await refused.ended).code, 0, 'it does not start with the key of somebody else')
  t.match(refused.stderr(), /NDD_LICENSE_PUBLIC_KEY is rejected/)
  const running = startProcess(settings, main)
  t.teardown(() => running.child.kill('SIGKILL'))
  const url = await running.serving
  const activate = (body: string) => send(url, 'POST', '/api/v2/license/validate', { body, type: 'text/plain' })
  const forged = await activate(issued({}, forger.privateKey))
  t.match([forged.status, forged.json().code], [400, 'license_invalid'])
  t.equal((await activate(issued())).status, 200)
  running.child.kill('SIGTERM')
  await once(running.child, 'close')
})
