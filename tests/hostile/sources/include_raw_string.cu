__device__ const char text[] = R"(
#include "@FILE@"
)";
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[0] = text[threadIdx.x]; }
