//!tilelab block=(32,2) grid=(Width,Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int t = threadIdx.y * 32 + threadIdx.x;
    float* p = &P[blockIdx.y * Width + blockIdx.x];
    if (t == 0) *p = 0;
    float part = 0;
    for (int k = t; k < Width; k += 64) part += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    atomicAdd(p, part);
}
