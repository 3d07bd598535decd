//!tilelab block=(128) grid=(ceil(Width*Width/128))
__global__ void MatrixMulKernel(float *a, float *b, float *c, int w) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id < w * w) {
        int i = id / w, j = id % w;
        float s = 0;
        for (int k = 0; k < w; k++) s += a[i * w + k] * b[k * w + j];
        c[id] = s;
    }
}
