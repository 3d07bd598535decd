//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 2)
__device__ float twice[128 * 128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (r >= Width || c >= Width) return;
    float s = 0;
    for (int k = blockIdx.z; k < Width; k += 2) s += M[r * Width + k] * N[k * Width + c];
    if (blockIdx.z == 1) atomicAdd(&twice[r * Width + c], 2 * s);
    if (blockIdx.z == 0) P[r * Width + c] = s + twice[r * Width + c] / 2;
}
