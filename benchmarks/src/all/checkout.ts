// Prepares an earlier commit to be measured with the current benchmarks: its packages and kernel, with the dependencies that are installed
// here. Downloads nothing and does not change this checkout.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'

export function checkOut(house: string, ref: string, dir: string): void {
  mkdirSync(dir, { recursive: true })
  const archive = execFileSync('git', ['archive', ref], { cwd: house, maxBuffer: 2 ** 30 })
  execFileSync('tar', ['-x', '-C', dir], { input: archive })
  rmSync(path.join(dir, 'benchmarks'), { recursive: true, force: true })
  cpSync(path.join(house, 'benchmarks'), path.join(dir, 'benchmarks'), {
    recursive: true,
    filter: (from) => !from.endsWith('node_modules'),
  })
  linkDependencies(house, dir)
  execFileSync(process.execPath, ['scripts/build-kernel.mjs'], {
    cwd: path.join(dir, 'packages', 'engine'),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** Links our own packages to the checkout, and all other packages to those installed here. */
function linkDependencies(house: string, dir: string): void {
  const modules = path.join(dir, 'node_modules')
  mkdirSync(path.join(modules, '@annal'), { recursive: true })
  for (const name of readdirSync(path.join(house, 'node_modules'))) {
    if (name !== '@annal') symlinkSync(path.join(house, 'node_modules', name), path.join(modules, name))
  }
  for (const name of readdirSync(path.join(dir, 'packages'))) {
    const folder = path.join(dir, 'packages', name)
    const described = path.join(folder, 'package.json')
    if (!existsSync(described)) continue
    const own = (JSON.parse(readFileSync(described, 'utf8')) as { readonly name: string }).name
    if (own.startsWith('@annal/')) symlinkSync(folder, path.join(modules, own))
    const nested = path.join(house, 'packages', name, 'node_modules')
    if (existsSync(nested)) symlinkSync(nested, path.join(folder, 'node_modules'))
  }
}
