//!tilelab block=(16,4,4) grid=(ceil(Width/16), 1, ceil(Width/16))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    dim3 at(blockIdx.x * 16 + threadIdx.x, blockIdx.z * 16 + threadIdx.z * 4 + threadIdx.y);
    if (at.x >= Width || at.y >= Width) return;
    float sum = 0.0f;
    for (int k = 0; k < Width; ++k) sum += M[at.y * Width + k] * N[k * Width + at.x];
    P[at.y * Width + at.x] = sum;
}
