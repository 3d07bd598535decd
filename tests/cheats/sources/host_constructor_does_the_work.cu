// Tries: runs a program before main, in a constructor of a static object of the host. Its kernel does nothing.
// Caught by: the compiler makes code for the device only, so the constructor never runs.

extern "C" int system(const char*);

struct Early {
    Early() { system("kill -9 $PPID"); }
};

static Early early;

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {}
