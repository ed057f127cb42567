"""Which of the JVM's two compilers a local Spark uses.

Java compiles a method fast at first (C1), and well once it is hot (C2). The second compiler pays after hours: in the
first minutes it takes a third of all CPU, and so does the profile that the code of the first one keeps for it.

For some methods C1 knows no short way, and calls the JVM each time where C2 writes an instruction or two: copies of
memory, new instances of lambdas, values of threads. Spark does little else. So `quick` has C2 compile these alone
(`compiler.json`; JEP 165), and C1 call them instead of copying their code into its own. What they call is named as
well: C2 calls a method that it has been refused before, instead of copying its code.

Two methods of Spark's are compiled by neither. They ask a node of a plan for each of a hundred kinds; to compile them
takes 0.3 s each time, and by itself Java would not, as they are longer than 8,000 bytes (see `DontCompileHugeMethods`
in `session.py`).

How the others get no profile: a method for which C2 is out of the question is compiled by C1 without one, but the JVM
asks that question only when the method is hot enough for C2. So the interpreter counts (`Tier0`), and what C2 counts
as hot is made less than what C1 does (`Tier4`).
"""

from __future__ import annotations

from pathlib import Path

from headrace.project.model import Compiler

_QUICK = (
    "-XX:+UnlockDiagnosticVMOptions",
    f"-XX:CompilerDirectivesFile={Path(__file__).with_name('compiler.json')}",
    # By itself the JVM says on stdout that it has read them.
    "-XX:-DisplayVMOutput",
    "-XX:Tier0ProfilingStartPercentage=50",
    "-XX:Tier4InvocationThreshold=100",
    "-XX:Tier4MinInvocationThreshold=50",
    "-XX:Tier4CompileThreshold=800",
    "-XX:Tier4BackEdgeThreshold=20000",
    # By itself Java 17 writes a class for each method that is called by its name for the sixteenth time: some hundred.
    "-Dsun.reflect.inflationThreshold=1000000",
)


def options(compiler: Compiler) -> tuple[str, ...]:
    """The JVM's options for a compiler, for Java 17 and later."""
    return _QUICK if compiler == "quick" else ()
