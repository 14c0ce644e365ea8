import path from "node:path";
import {
  browserPackages,
  internalExports,
  layers,
  partialExports,
  restrictedFiles,
  rooms,
  testLibraries,
  testPackages,
  type Layer,
} from "./layers.ts";

/** One import in a module. `specifier` is undefined if it is not a literal; such an import cannot be checked. */
export interface ImportClaim {
  readonly filename: string;
  readonly specifier: string | undefined;
  readonly how: "static" | "type" | "dynamic";
}

interface Importer {
  readonly packageName: string;
  readonly packageRoot: string;
  readonly layer: Layer;
  readonly isTest: boolean;
}

/** Tests, benchmarks and their support folders are not part of a package's product code. */
const testFilePattern = /\.(?:test|bench)\.tsx?$|\/testing\/|\/packages\/[^/]+\/(?:test|bench)\//;

/** The reason why this import violates the layer table, or undefined. */
export function importProblem(claim: ImportClaim): string | undefined {
  const found = /^(.*\/packages\/([^/]+))\/./.exec(path.posix.normalize(claim.filename.replaceAll("\\", "/")));
  const [, packageRoot, packageName] = found ?? [];
  if (packageRoot === undefined || packageName === undefined) return undefined;
  const layer = layers[packageName];
  if (layer === undefined) return `Package ${packageName} is missing in tools/lint/layers.ts.`;
  const importer = { packageName, packageRoot, layer, isTest: testFilePattern.test(claim.filename) };
  if (!claim.filename.startsWith(`${packageRoot}/src/`) && !importer.isTest) return undefined;
  if (claim.specifier === undefined) return unknowableProblem(importer);
  if (/^[./]/.test(claim.specifier)) return relativeProblem(importer, claim.filename, claim.specifier);
  if (claim.specifier.startsWith("@headroom/")) return workspaceProblem(importer, claim.specifier, claim.how);
  return libraryProblem(importer, claim.specifier);
}

function unknowableProblem({ layer, isTest }: Importer): string | undefined {
  if (layer.purity === "shell" || isTest) return undefined;
  return "A computed import cannot be checked: name the module.";
}

function relativeProblem(importer: Importer, filename: string, specifier: string): string | undefined {
  const { packageRoot, packageName, isTest } = importer;
  const target = path.posix.resolve(path.posix.dirname(filename), specifier);
  if (!isTest && testFilePattern.test(target)) return `${specifier} is for tests: what ships may not import it.`;
  if (target.startsWith(`${packageRoot}/`)) return isTest ? undefined : roomProblem(importer, filename, target);
  const intoPackages = target.startsWith(`${path.posix.dirname(packageRoot)}/`);
  if (isTest && !intoPackages) return undefined;
  return `${specifier} leaves the package ${packageName}: import another package by its name.`;
}

/** Checks the order of the rooms of a package, type imports included. */
function roomProblem({ packageName, packageRoot }: Importer, filename: string, target: string): string | undefined {
  const order = rooms[packageName];
  if (order === undefined) return undefined;
  const roomOf = (file: string): string | undefined =>
    /^src\/([^/]+)\//.exec(path.posix.relative(packageRoot, path.posix.normalize(file.replaceAll("\\", "/"))))?.[1];
  const from = roomOf(filename);
  const to = roomOf(target);
  const restrictedTo = restrictedFiles[path.posix.relative(path.posix.dirname(packageRoot), target)];
  if (restrictedTo !== undefined && !restrictedTo.includes(from ?? ""))
    return `Only ${restrictedTo.join("/ and ")}/ may import this file: other rooms read the state (restrictedFiles in tools/lint/layers.ts).`;
  if (from === undefined) return undefined;
  if (!order.includes(from)) return `Room ${from} of ${packageName} is missing in tools/lint/layers.ts.`;
  if (to === undefined) return "A room may not import the files at the root of the package.";
  if (order.indexOf(to) <= order.indexOf(from)) return undefined;
  return `Room ${from} may not import room ${to}: it comes later (rooms in tools/lint/layers.ts).`;
}

function workspaceProblem(
  { packageName, layer, isTest }: Importer,
  specifier: string,
  how: ImportClaim["how"],
): string | undefined {
  const target = specifier.split("/")[1] ?? "";
  const allowed = internalExports[specifier];
  if (allowed !== undefined && (isTest || allowed.includes(packageName))) return undefined;
  if (specifier !== `@headroom/${target}` && !partialExports.includes(specifier))
    return `${specifier} reaches into a package: use what @headroom/${target} exports.`;
  if (isTest && (target === packageName || testPackages.includes(target))) return undefined;
  const isLazily = layer.lazyPackages.includes(target);
  if (layer.packages.includes(target) || (isLazily && (how !== "static" || isTest))) return undefined;
  if (isLazily) return `${packageName} may import ${target} only with import(), so that start-up stays cheap.`;
  return `${packageName} may not import ${target} (tools/lint/layers.ts).`;
}

function libraryProblem({ packageName, layer, isTest }: Importer, specifier: string): string | undefined {
  const library = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  if (isTest && (specifier.startsWith("node:") || testLibraries.includes(library))) return undefined;
  if (specifier.startsWith("node:")) {
    const isForNode = layer.purity === "shell" && !browserPackages.includes(packageName);
    return isForNode ? undefined : `${packageName} runs without Node: it may not import ${specifier}.`;
  }
  if (layer.libraries === "declared" || layer.libraries.includes(library)) return undefined;
  return `${packageName} may not import ${library} (tools/lint/layers.ts).`;
}
