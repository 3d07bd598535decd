__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) {
#include "@FILE@"
}
