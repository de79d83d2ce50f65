import { expect, it } from 'vitest'

// The modules that each module of the page imports, types too.
const sources = import.meta.glob<string>('../src/**/*.ts', { query: '?raw', import: 'default', eager: true })
const imports = new Map<string, string[]>(Object.entries(sources).map(([name, text]) => [
  name, [...text.matchAll(/from '(\.[^']*)'/g)].map((m) => `..${new URL(m[1]!, new URL(name, 'file:///app/test/')).pathname.slice('/app'.length)}.ts`),
]))
imports.set('../generated/api.ts', []) // made by npm run types, and imports nothing

it('imports one way', () => {
  const acyclic = new Set<string>()
  const visit = (name: string, path: string[]) => {
    if (acyclic.has(name)) return
    const from = path.indexOf(name)
    expect(from === -1 ? [] : [...path.slice(from), name], 'these modules import one another').toEqual([])
    for (const next of imports.get(name) ?? []) visit(next, [...path, name])
    acyclic.add(name)
  }
  for (const name of imports.keys()) visit(name, [])
  expect([...acyclic].sort(), 'every import is of a module of the page').toEqual([...imports.keys()].sort())
})
