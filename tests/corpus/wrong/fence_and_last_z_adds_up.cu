//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 3)
__device__ float part[3][128 * 128];
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width)
{
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y, z = blockIdx.z;
    if (i >= Width || j >= Width) return;
    float s = 0;
    for (int k = z; k < Width; k += 3) s += M[i * Width + k] * N[k * Width + j];
    part[z][i * Width + j] = s;
    __threadfence();
    if (z == 2) {
        float all = s;
        for (int p = 0; p < 2; ++p) all += part[p][i * Width + j];
        P[i * Width + j] = all;
    }
}
