// Tries: builds the name of a library's header from macros.
// Caught by: the rules for includes, which allow no macro.

#define TEXT(x) #x
#define HEADER(a, b) TEXT(a##b.h)
#include HEADER(cub, las_v2)

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    cublasHandle_t handle;
    cublasCreate_v2(&handle);
}
