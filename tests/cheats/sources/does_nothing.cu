// Tries: nothing. Where the output still holds an earlier result, that would do.
// Caught by: the output, which is filled with NaN before each run.

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {}
